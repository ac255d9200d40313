! Results: what the calls of the module tesseract_host return.
module tesseract_results
  use tesseract_lists
  use tesseract_arrays
  implicit none
  private

  public :: tesseract_result

  ! What a call returned.  `wrt` names the input of a Jacobian's entry.
  !   get(path, array [, reversed, wrt, error])   copies a tensor into an array of its shape
  !   view(path, pointer [, reversed, wrt, error])  associates a pointer with a tensor, valid until
  !       the result is freed or used again; a row-major one of rank 2 or more only reversed
  !   dims(path [, wrt])  the shape, not reversed; [-1] where there is no such tensor
  !   count(), path(i), wrt(i)  the tensors, numbered from 1
  !   json()  the outputs that are no arrays, as one JSON object
  !   free()
  type :: tesseract_result
    type(c_ptr) :: handle = c_null_ptr ! a tesseract_result of host.h
  contains
    generic :: get => get_real64, get_real32, get_int64, get_int32, get_complex128, get_bool
    generic :: view => view_real64, view_real32, view_int64, view_int32, view_complex128, view_bool
    procedure :: dims => result_dims
    procedure :: count => result_count
    procedure :: path => result_path
    procedure :: wrt => result_wrt
    procedure :: json => result_json
    procedure :: free => result_free
    procedure, private :: get_real64, get_real32, get_int64, get_int32, get_complex128, get_bool
    procedure, private :: view_real64, view_real32, view_int64, view_int32, view_complex128, &
      view_bool
  end type

contains

  subroutine result_free(self)
    class(tesseract_result), intent(inout) :: self
    call tesseract_result_free(self%handle)
    self%handle = c_null_ptr
  end subroutine

  integer function result_count(self)
    class(tesseract_result), intent(in) :: self
    result_count = 0
    if (c_associated(self%handle)) result_count = int(tesseract_result_count(self%handle))
  end function

  function result_path(self, index) result(text)
    class(tesseract_result), intent(in) :: self
    integer, intent(in) :: index
    character(len=:), allocatable :: text
    type(c_ptr) :: data
    integer(c_int64_t) :: length
    data = c_null_ptr
    length = 0
    if (c_associated(self%handle)) then
      data = tesseract_result_path(self%handle, index - 1_c_int64_t, length)
    end if
    text = tesseract_copy(data, length)
  end function

  function result_wrt(self, index) result(text)
    class(tesseract_result), intent(in) :: self
    integer, intent(in) :: index
    character(len=:), allocatable :: text
    type(c_ptr) :: data
    integer(c_int64_t) :: length
    data = c_null_ptr
    length = 0
    if (c_associated(self%handle)) then
      data = tesseract_result_wrt(self%handle, index - 1_c_int64_t, length)
    end if
    text = tesseract_copy(data, length)
  end function

  function result_json(self) result(text)
    class(tesseract_result), intent(in) :: self
    character(len=:), allocatable :: text
    type(c_ptr) :: data
    integer(c_int64_t) :: length
    data = c_null_ptr
    length = 0
    if (c_associated(self%handle)) data = tesseract_result_json(self%handle, length)
    text = tesseract_copy(data, length)
  end function

  ! The tensor of a path, and of an input where `wrt` is given; not associated where there is none.
  function tensor_at(self, path, wrt) result(tensor)
    class(tesseract_result), intent(in) :: self
    character(len=*), intent(in) :: path
    character(len=*), intent(in), optional :: wrt
    type(dl_tensor), pointer :: tensor
    type(c_ptr) :: address
    integer :: i
    nullify (tensor)
    do i = 1, self%count()
      if (self%path(i) /= path) cycle
      if (present(wrt)) then
        if (self%wrt(i) /= wrt) cycle
      end if
      address = tesseract_result_tensor(self%handle, i - 1_c_int64_t)
      if (c_associated(address)) call c_f_pointer(address, tensor)
      return
    end do
  end function

  function result_dims(self, path, wrt) result(dims)
    class(tesseract_result), intent(in) :: self
    character(len=*), intent(in) :: path
    character(len=*), intent(in), optional :: wrt
    integer(int64), allocatable :: dims(:)
    type(dl_tensor), pointer :: tensor
    integer(int64), pointer :: shape(:)
    tensor => tensor_at(self, path, wrt)
    dims = [-1_int64]
    if (.not. associated(tensor)) return
    deallocate (dims)
    allocate (dims(tensor%ndim))
    if (tensor%ndim == 0) return
    call c_f_pointer(tensor%shape, shape, [tensor%ndim])
    dims = shape
  end function

  ! The layout of a tensor for an array of this dtype and rank, or the failure.
  function look(self, path, dtype, rank, reversed, wrt, failure) result(layout)
    class(tesseract_result), intent(in) :: self
    character(len=*), intent(in) :: path
    type(dl_data_type), intent(in) :: dtype
    integer, intent(in) :: rank
    logical, intent(in), optional :: reversed
    character(len=*), intent(in), optional :: wrt
    type(tesseract_error), intent(inout) :: failure
    type(tesseract_layout) :: layout
    type(dl_tensor), pointer :: tensor
    tensor => tensor_at(self, path, wrt)
    if (.not. associated(tensor)) then
      failure = failure_of(TESSERACT_ERROR_NOT_FOUND, 'the result has no such tensor', path)
      return
    end if
    layout = tesseract_layout_of(tensor, dtype, rank, is_reversed(reversed))
    if (allocated(layout%problem)) then
      failure = failure_of(TESSERACT_ERROR_SCHEMA, layout%problem, path)
    end if
  end function

  ! As look, for a pointer: refuses strides that a Fortran array can't have.
  function look_compact(self, path, dtype, rank, reversed, wrt, error) result(layout)
    class(tesseract_result), intent(in) :: self
    character(len=*), intent(in) :: path
    type(dl_data_type), intent(in) :: dtype
    integer, intent(in) :: rank
    logical, intent(in), optional :: reversed
    character(len=*), intent(in), optional :: wrt
    type(tesseract_error), intent(out), optional :: error
    type(tesseract_layout) :: layout
    type(tesseract_error) :: failure
    layout = look(self, path, dtype, rank, reversed, wrt, failure)
    if (failure%status == TESSERACT_OK .and. .not. tesseract_is_compact(layout)) then
      failure = failure_of(TESSERACT_ERROR_INVALID_ARGUMENT, 'its memory order is not the ' &
        // 'pointer''s: use get, or the other value of `reversed`', path)
    end if
    if (failure%status /= TESSERACT_OK) layout%address = c_null_ptr
    call report(failure, error)
  end function

  ! Copies a tensor into an array.
  subroutine copy_out(self, path, address, dtype, dims, contiguous, reversed, wrt, error)
    class(tesseract_result), intent(in) :: self
    character(len=*), intent(in) :: path
    type(c_ptr), intent(in) :: address
    type(dl_data_type), intent(in) :: dtype
    integer(int64), intent(in) :: dims(:)
    logical, intent(in) :: contiguous
    logical, intent(in), optional :: reversed
    character(len=*), intent(in), optional :: wrt
    type(tesseract_error), intent(out), optional :: error
    type(tesseract_error) :: failure
    type(tesseract_layout) :: layout
    layout = look(self, path, dtype, size(dims), reversed, wrt, failure)
    if (failure%status /= TESSERACT_OK) then
      continue
    else if (any(layout%dims(:size(dims)) /= dims)) then
      failure = failure_of(TESSERACT_ERROR_SCHEMA, 'the array''s shape is ' // shape_text(dims) &
        // ', the tensor''s ' // shape_text(layout%dims(:size(dims))), path)
    else if (.not. contiguous) then
      failure = failure_of(TESSERACT_ERROR_INVALID_ARGUMENT, &
        'the array is a section that is not contiguous', path)
    else
      call tesseract_copy_elements(layout, bytes_of(dtype), address)
    end if
    call report(failure, error)
  end subroutine

  subroutine get_real64(self, path, array, reversed, wrt, error)
    type(dl_data_type), parameter :: dtype = DTYPE_REAL64
    real(real64), intent(inout), target :: array(..)
    include 'tesseract_get.inc'
  end subroutine

  subroutine view_real64(self, path, array, reversed, wrt, error)
    type(dl_data_type), parameter :: dtype = DTYPE_REAL64
    real(real64), pointer, intent(out) :: array(..)
    include 'tesseract_view.inc'
  end subroutine

  subroutine get_real32(self, path, array, reversed, wrt, error)
    type(dl_data_type), parameter :: dtype = DTYPE_REAL32
    real(real32), intent(inout), target :: array(..)
    include 'tesseract_get.inc'
  end subroutine

  subroutine view_real32(self, path, array, reversed, wrt, error)
    type(dl_data_type), parameter :: dtype = DTYPE_REAL32
    real(real32), pointer, intent(out) :: array(..)
    include 'tesseract_view.inc'
  end subroutine

  subroutine get_int64(self, path, array, reversed, wrt, error)
    type(dl_data_type), parameter :: dtype = DTYPE_INT64
    integer(int64), intent(inout), target :: array(..)
    include 'tesseract_get.inc'
  end subroutine

  subroutine view_int64(self, path, array, reversed, wrt, error)
    type(dl_data_type), parameter :: dtype = DTYPE_INT64
    integer(int64), pointer, intent(out) :: array(..)
    include 'tesseract_view.inc'
  end subroutine

  subroutine get_int32(self, path, array, reversed, wrt, error)
    type(dl_data_type), parameter :: dtype = DTYPE_INT32
    integer(int32), intent(inout), target :: array(..)
    include 'tesseract_get.inc'
  end subroutine

  subroutine view_int32(self, path, array, reversed, wrt, error)
    type(dl_data_type), parameter :: dtype = DTYPE_INT32
    integer(int32), pointer, intent(out) :: array(..)
    include 'tesseract_view.inc'
  end subroutine

  subroutine get_complex128(self, path, array, reversed, wrt, error)
    type(dl_data_type), parameter :: dtype = DTYPE_COMPLEX128
    complex(real64), intent(inout), target :: array(..)
    include 'tesseract_get.inc'
  end subroutine

  subroutine view_complex128(self, path, array, reversed, wrt, error)
    type(dl_data_type), parameter :: dtype = DTYPE_COMPLEX128
    complex(real64), pointer, intent(out) :: array(..)
    include 'tesseract_view.inc'
  end subroutine

  subroutine get_bool(self, path, array, reversed, wrt, error)
    type(dl_data_type), parameter :: dtype = DTYPE_BOOL
    logical(c_bool), intent(inout), target :: array(..)
    include 'tesseract_get.inc'
  end subroutine

  subroutine view_bool(self, path, array, reversed, wrt, error)
    type(dl_data_type), parameter :: dtype = DTYPE_BOOL
    logical(c_bool), pointer, intent(out) :: array(..)
    include 'tesseract_view.inc'
  end subroutine
end module
