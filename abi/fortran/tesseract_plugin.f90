! Writing a component in Fortran: plugin.h with Fortran arrays.  See examples/plugin-fortran.
!
! An endpoint is a bind(c) function of the interface tesseract_endpoint:
!
!   real(real64), pointer :: x(:), y(:)
!   nullify (x, y)                               ! else gfortran warns of the next lines
!   status = TESSERACT_OK
!   call tesseract_input(frame, 1, x, status)
!   call tesseract_output(frame, 1, y, status)
!   if (status /= TESSERACT_OK) return
!   if (associated(y)) y = x**2
!
! Positions are those of the description, from 1.  A pointer is not associated where an input is not
! given, a seed is zero, or an output is not wanted.  Its rank is as declared, its shape the
! tensor's.  Pointers are valid until the endpoint returns; inputs and seeds are not to be written.
!
! Memory order (see tesseract_arrays.f90).  Of rank 2 and more a leaf is described with "layout":
! "column-major", and a(i, j) is element [i-1, j-1]; or it is left row-major and asked for with
! reversed=.true., and a(i, j) is element [j-1, i-1].
!
! A wrong dtype, rank, layout or position is the component's mistake: it is recorded, `status`
! becomes TESSERACT_ERROR_COMPONENT, and later requests with that status do nothing.
module tesseract_plugin
  use tesseract_arrays
  implicit none
  private

  ! What else plugin.h has is in the module tesseract_host_c.
  public :: tesseract_input, tesseract_seed, tesseract_output, tesseract_input_json, &
    tesseract_output_json, tesseract_fail, tesseract_cancelled, tesseract_log
  public :: tesseract_plugin_table, tesseract_frame, tesseract_endpoint
  public :: TESSERACT_OK, TESSERACT_ERROR_INVALID_ARGUMENT, TESSERACT_ERROR_SCHEMA, &
    TESSERACT_ERROR_DEVICE, TESSERACT_ERROR_UNSUPPORTED, TESSERACT_ERROR_NOT_FOUND, &
    TESSERACT_ERROR_OUT_OF_DOMAIN, TESSERACT_ERROR_COMPONENT, TESSERACT_ERROR_OUT_OF_MEMORY, &
    TESSERACT_ERROR_CANCELLED, TESSERACT_ERROR_VERSION, TESSERACT_ERROR_UNAVAILABLE, &
    TESSERACT_ERROR_INTERNAL
  public :: TESSERACT_LOG_DEBUG, TESSERACT_LOG_INFO, TESSERACT_LOG_WARNING, TESSERACT_LOG_ERROR, &
    TESSERACT_LOG_OUTPUT
  public :: real64, real32, int64, int32, c_bool, c_char, c_double, c_float, c_int8_t, c_int32_t, &
    c_int64_t
  public :: c_ptr, c_null_ptr, c_loc, c_f_pointer, c_associated, c_funptr, c_null_funptr, &
    c_funloc, c_f_procpointer

  ! (frame, index, array, status [, reversed])
  interface tesseract_input
    module procedure input_real64, input_real32, input_int64, input_int32, input_complex128, &
      input_bool
  end interface
  interface tesseract_seed
    module procedure seed_real64, seed_real32, seed_int64, seed_int32, seed_complex128, seed_bool
  end interface

  ! (frame, index, array, status [, reversed, dims]): `dims` is the array's shape where it is the
  ! component's to say, of an output that is wanted.
  interface tesseract_output
    module procedure output_real64, output_real32, output_int64, output_int32, output_complex128, &
      output_bool
  end interface

contains

  ! Records why the call fails and returns `status`; `path` names the leaf at fault or is blank.
  integer(c_int32_t) function tesseract_fail(frame, status, path, text)
    type(tesseract_frame), intent(in) :: frame
    integer(c_int32_t), intent(in) :: status
    character(len=*), intent(in) :: path, text
    procedure(tesseract_error_set_function), pointer :: error_set
    type(tesseract_host_table), pointer :: host
    call c_f_pointer(frame%host, host)
    call c_f_procpointer(host%error_set, error_set)
    tesseract_fail = error_set(frame, status, path, len_trim(path, c_int64_t), text, &
      len_trim(text, c_int64_t))
  end function

  ! Whether the caller asked to stop: clean up and return TESSERACT_ERROR_CANCELLED.
  logical function tesseract_cancelled(frame)
    type(tesseract_frame), intent(in) :: frame
    procedure(tesseract_cancelled_function), pointer :: cancelled
    type(tesseract_host_table), pointer :: host
    call c_f_pointer(frame%host, host)
    call c_f_procpointer(host%cancelled, cancelled)
    tesseract_cancelled = cancelled(frame) /= 0
  end function

  ! One line for the log; `level` is TESSERACT_LOG_INFO, say.
  subroutine tesseract_log(frame, level, text)
    type(tesseract_frame), intent(in) :: frame
    integer(c_int32_t), intent(in) :: level
    character(len=*), intent(in) :: text
    procedure(tesseract_log_function), pointer :: log
    type(tesseract_host_table), pointer :: host
    call c_f_pointer(frame%host, host)
    call c_f_procpointer(host%log, log)
    call log(frame%log, level, text, len(text, c_int64_t))
  end subroutine

  ! The inputs that are no arrays, one JSON object.
  function tesseract_input_json(frame) result(text)
    type(tesseract_frame), intent(in) :: frame
    character(len=:), allocatable :: text
    type(tesseract_signature), pointer :: signature
    type(tesseract_leaves), pointer :: inputs
    text = '{}'
    if (.not. c_associated(frame%signature)) return
    call c_f_pointer(frame%signature, signature)
    if (.not. c_associated(signature%inputs)) return
    call c_f_pointer(signature%inputs, inputs)
    if (inputs%json%length > 0) text = tesseract_copy(inputs%json%data, inputs%json%length)
  end function

  ! Gives the outputs that are no arrays, one JSON object; at most once a call.
  subroutine tesseract_output_json(frame, text, status)
    type(tesseract_frame), intent(in) :: frame
    character(len=*), intent(in) :: text
    integer(c_int32_t), intent(inout) :: status
    procedure(tesseract_output_json_function), pointer :: output_json
    type(tesseract_host_table), pointer :: host
    if (status /= TESSERACT_OK) return
    call c_f_pointer(frame%host, host)
    call c_f_procpointer(host%output_json, output_json)
    status = output_json(frame, text, len(text, c_int64_t))
  end subroutine

  ! The tensor of an output whose shape is the component's to say.
  function allocated_output(frame, index, dtype, dims, reversed, status) result(tensor)
    type(tesseract_frame), intent(in) :: frame
    integer, intent(in) :: index
    type(dl_data_type), intent(in), target :: dtype
    integer(int64), intent(in) :: dims(:)
    logical, intent(in) :: reversed
    integer(c_int32_t), intent(inout) :: status
    type(c_ptr) :: tensor
    procedure(tesseract_allocate_output_function), pointer :: allocate_output
    type(tesseract_host_table), pointer :: host
    integer(c_int64_t) :: shape(size(dims))
    shape = dims
    if (reversed) shape = dims(size(dims):1:-1)
    call c_f_pointer(frame%host, host)
    call c_f_procpointer(host%allocate_output, allocate_output)
    tensor = c_null_ptr
    status = allocate_output(frame, index - 1_c_int64_t, c_loc(dtype), size(dims, kind=c_int32_t), &
      shape, tensor)
  end function

  ! The layout of a tensor of the frame for an array of this dtype and rank; its address is null
  ! where there is no tensor, or `status` isn't OK.
  function look(frame, kind, index, dtype, rank, status, reversed, dims) result(layout)
    type(tesseract_frame), intent(in) :: frame
    character(len=*), intent(in) :: kind
    integer, intent(in) :: index, rank
    type(dl_data_type), intent(in) :: dtype
    integer(c_int32_t), intent(inout) :: status
    logical, intent(in), optional :: reversed
    integer(int64), intent(in), optional :: dims(:)
    type(tesseract_layout) :: layout
    type(dl_tensor), pointer :: tensor
    type(c_ptr), pointer :: tensors(:)
    type(c_ptr) :: list, address
    integer(c_int64_t) :: count
    logical :: is_reversed
    if (status /= TESSERACT_OK) return
    select case (kind)
    case ('input'); list = frame%inputs; count = frame%n_inputs
    case ('seed'); list = frame%seeds; count = frame%n_seeds
    case default; list = frame%outputs; count = frame%n_outputs
    end select
    if (index < 1 .or. index > count) then
      status = tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, '', 'the component asks for ' &
        // kind // ' ' // text_of(int(index, int64)) // ' of ' // text_of(count))
      return
    end if
    is_reversed = .false.
    if (present(reversed)) is_reversed = reversed
    call c_f_pointer(list, tensors, [count])
    address = tensors(index)
    if (present(dims)) then
      address = allocated_output(frame, index, dtype, dims, is_reversed, status)
      if (status /= TESSERACT_OK) return
    end if
    if (.not. c_associated(address)) return
    call c_f_pointer(address, tensor)
    layout = tesseract_layout_of(tensor, dtype, rank, is_reversed)
    if (.not. allocated(layout%problem) .and. .not. tesseract_is_compact(layout)) then
      layout%problem = 'its memory order is not the array''s: describe it with "layout": ' &
        // '"column-major", or ask with reversed=.true.'
    end if
    if (.not. allocated(layout%problem)) return
    layout%address = c_null_ptr
    status = tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, '', 'the component can''t use ' &
      // kind // ' ' // text_of(int(index, int64)) // ': ' // layout%problem)
  end function

  subroutine input_real64(frame, index, array, status, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_REAL64
    character(len=*), parameter :: kind = 'input'
    real(real64), pointer, intent(out) :: array(..)
    include 'tesseract_input.inc'
  end subroutine

  subroutine seed_real64(frame, index, array, status, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_REAL64
    character(len=*), parameter :: kind = 'seed'
    real(real64), pointer, intent(out) :: array(..)
    include 'tesseract_input.inc'
  end subroutine

  subroutine output_real64(frame, index, array, status, reversed, dims)
    type(dl_data_type), parameter :: dtype = DTYPE_REAL64
    real(real64), pointer, intent(out) :: array(..)
    include 'tesseract_output.inc'
  end subroutine

  subroutine input_real32(frame, index, array, status, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_REAL32
    character(len=*), parameter :: kind = 'input'
    real(real32), pointer, intent(out) :: array(..)
    include 'tesseract_input.inc'
  end subroutine

  subroutine seed_real32(frame, index, array, status, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_REAL32
    character(len=*), parameter :: kind = 'seed'
    real(real32), pointer, intent(out) :: array(..)
    include 'tesseract_input.inc'
  end subroutine

  subroutine output_real32(frame, index, array, status, reversed, dims)
    type(dl_data_type), parameter :: dtype = DTYPE_REAL32
    real(real32), pointer, intent(out) :: array(..)
    include 'tesseract_output.inc'
  end subroutine

  subroutine input_int64(frame, index, array, status, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_INT64
    character(len=*), parameter :: kind = 'input'
    integer(int64), pointer, intent(out) :: array(..)
    include 'tesseract_input.inc'
  end subroutine

  subroutine seed_int64(frame, index, array, status, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_INT64
    character(len=*), parameter :: kind = 'seed'
    integer(int64), pointer, intent(out) :: array(..)
    include 'tesseract_input.inc'
  end subroutine

  subroutine output_int64(frame, index, array, status, reversed, dims)
    type(dl_data_type), parameter :: dtype = DTYPE_INT64
    integer(int64), pointer, intent(out) :: array(..)
    include 'tesseract_output.inc'
  end subroutine

  subroutine input_int32(frame, index, array, status, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_INT32
    character(len=*), parameter :: kind = 'input'
    integer(int32), pointer, intent(out) :: array(..)
    include 'tesseract_input.inc'
  end subroutine

  subroutine seed_int32(frame, index, array, status, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_INT32
    character(len=*), parameter :: kind = 'seed'
    integer(int32), pointer, intent(out) :: array(..)
    include 'tesseract_input.inc'
  end subroutine

  subroutine output_int32(frame, index, array, status, reversed, dims)
    type(dl_data_type), parameter :: dtype = DTYPE_INT32
    integer(int32), pointer, intent(out) :: array(..)
    include 'tesseract_output.inc'
  end subroutine

  subroutine input_complex128(frame, index, array, status, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_COMPLEX128
    character(len=*), parameter :: kind = 'input'
    complex(real64), pointer, intent(out) :: array(..)
    include 'tesseract_input.inc'
  end subroutine

  subroutine seed_complex128(frame, index, array, status, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_COMPLEX128
    character(len=*), parameter :: kind = 'seed'
    complex(real64), pointer, intent(out) :: array(..)
    include 'tesseract_input.inc'
  end subroutine

  subroutine output_complex128(frame, index, array, status, reversed, dims)
    type(dl_data_type), parameter :: dtype = DTYPE_COMPLEX128
    complex(real64), pointer, intent(out) :: array(..)
    include 'tesseract_output.inc'
  end subroutine

  subroutine input_bool(frame, index, array, status, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_BOOL
    character(len=*), parameter :: kind = 'input'
    logical(c_bool), pointer, intent(out) :: array(..)
    include 'tesseract_input.inc'
  end subroutine

  subroutine seed_bool(frame, index, array, status, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_BOOL
    character(len=*), parameter :: kind = 'seed'
    logical(c_bool), pointer, intent(out) :: array(..)
    include 'tesseract_input.inc'
  end subroutine

  subroutine output_bool(frame, index, array, status, reversed, dims)
    type(dl_data_type), parameter :: dtype = DTYPE_BOOL
    logical(c_bool), pointer, intent(out) :: array(..)
    include 'tesseract_output.inc'
  end subroutine
end module
