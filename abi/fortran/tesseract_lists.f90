! Errors and lists of arrays: what the calls of the module tesseract_host are given.
module tesseract_lists
  use, intrinsic :: iso_fortran_env, only: error_unit
  use tesseract_arrays
  implicit none
  private

  public :: tesseract_error, tesseract_list
  public :: c_list, expose, expose_wanted, failure_of, is_reversed, report, taken, tensor_of

  ! Why a call failed.  The texts are allocated when status is not TESSERACT_OK, and empty where
  ! there is none.
  type :: tesseract_error
    integer(c_int32_t) :: status = TESSERACT_OK
    character(len=:), allocatable :: message, path, component, endpoint, traceback
  end type

  ! One named array of a list.
  type :: entry
    character(len=:), allocatable :: path
    logical :: has_tensor = .false.
    logical :: by_value = .false. ! a scalar, kept in `value`
    type(dl_tensor) :: tensor
    integer(int64) :: shape(TESSERACT_MAX_RANK) = 0
    integer(int64) :: strides(TESSERACT_MAX_RANK) = 0
    integer(int64) :: value(2) = 0
    character(len=:), allocatable :: problem ! why the array can't be given
  end type

  ! Named arrays: inputs, seeds, or results wanted, in the order in which paths were first named.
  !   set(path, array [, reversed])   an array to be read; replaces the one of that path
  !   into(path, array [, reversed])  an array to be written; likewise
  !   want(path)                      a path alone: the result holds the array; in a list to prepare
  !                                   a call by, dtype and rank as declared
  !   json(text)                      of inputs: the leaves that are no arrays, one JSON object
  !   has(path)                       whether the path is in the list
  !   clear()                         empties the list
  type :: tesseract_list
    ! not to be touched: the parts
    integer :: count = 0
    type(entry), allocatable :: entries(:)
    character(len=:), allocatable :: text
  contains
    generic :: set => set_real64, set_real32, set_int64, set_int32, set_complex128, set_bool
    generic :: into => into_real64, into_real32, into_int64, into_int32, into_complex128, into_bool
    procedure :: want => list_want
    procedure :: json => list_json
    procedure :: has => list_has
    procedure :: clear => list_clear
    procedure, private :: set_real64, set_real32, set_int64, set_int32, set_complex128, set_bool
    procedure, private :: into_real64, into_real32, into_int64, into_int32, into_complex128, &
      into_bool
  end type

  ! A list as C sees it, while neither is changed.  (From here on: for tesseract_host only.)
  type :: c_list
    type(tesseract_leaves) :: head
    type(tesseract_leaf), allocatable :: leaves(:)
  end type

contains

  ! ---- Errors -----------------------------------------------------------------------------------

  ! Hands a failure to the caller, or stops.
  subroutine report(failure, error)
    type(tesseract_error), intent(in) :: failure
    type(tesseract_error), intent(out), optional :: error
    if (present(error)) then
      error = failure
    else if (failure%status /= TESSERACT_OK) then
      write (error_unit, '(a)') failure%message
      error stop 1
    end if
  end subroutine

  function failure_of(status, message, path) result(failure)
    integer(c_int32_t), intent(in) :: status
    character(len=*), intent(in) :: message, path
    type(tesseract_error) :: failure
    failure%status = status
    failure%component = ''
    failure%endpoint = ''
    failure%traceback = ''
    failure%message = 'tesseract_host: ' // path // ': ' // message
    failure%path = path
  end function

  ! What a C function left in `error`, which is freed.
  function taken(status, error) result(failure)
    integer(c_int32_t), intent(in) :: status
    type(c_ptr), intent(inout) :: error
    type(tesseract_error) :: failure
    integer(c_int64_t) :: length
    type(c_ptr) :: text
    if (status == TESSERACT_OK) return
    failure%status = status
    text = tesseract_error_message(error, length)
    failure%message = tesseract_copy(text, length)
    failure%path = detail(TESSERACT_DETAIL_PATH)
    failure%component = detail(TESSERACT_DETAIL_COMPONENT)
    failure%endpoint = detail(TESSERACT_DETAIL_ENDPOINT)
    failure%traceback = detail(TESSERACT_DETAIL_TRACEBACK)
    call tesseract_error_free(error)
    error = c_null_ptr
  contains
    function detail(which)
      integer(c_int32_t), intent(in) :: which
      character(len=:), allocatable :: detail
      length = 0
      text = tesseract_error_detail(error, which, length)
      detail = tesseract_copy(text, length)
    end function
  end function

  ! ---- Lists ------------------------------------------------------------------------------------

  subroutine list_clear(self)
    class(tesseract_list), intent(inout) :: self
    self%count = 0
    if (allocated(self%entries)) deallocate (self%entries)
    if (allocated(self%text)) deallocate (self%text)
  end subroutine

  subroutine list_json(self, text)
    class(tesseract_list), intent(inout) :: self
    character(len=*), intent(in) :: text
    self%text = text
  end subroutine

  subroutine list_want(self, path)
    class(tesseract_list), intent(inout) :: self
    character(len=*), intent(in) :: path
    integer :: i
    i = place(self, path)
    self%entries(i)%has_tensor = .false.
  end subroutine

  logical function list_has(self, path)
    class(tesseract_list), intent(in) :: self
    character(len=*), intent(in) :: path
    integer :: i
    list_has = .false.
    do i = 1, self%count
      if (self%entries(i)%path == path) list_has = .true.
    end do
  end function

  ! The entry of a path, new where there is none.
  integer function place(list, path)
    class(tesseract_list), intent(inout) :: list
    character(len=*), intent(in) :: path
    type(entry), allocatable :: larger(:)
    do place = 1, list%count
      if (list%entries(place)%path == path) return
    end do
    if (.not. allocated(list%entries)) allocate (list%entries(8))
    if (list%count == size(list%entries)) then
      allocate (larger(2 * list%count))
      larger(:list%count) = list%entries
      call move_alloc(larger, list%entries)
    end if
    list%count = place
    list%entries(place)%path = path
  end function

  subroutine put(list, path, address, dtype, dims, contiguous, by_value, reversed)
    class(tesseract_list), intent(inout) :: list
    character(len=*), intent(in) :: path
    type(c_ptr), intent(in) :: address
    type(dl_data_type), intent(in) :: dtype
    integer(int64), intent(in) :: dims(:)
    logical, intent(in) :: contiguous, by_value
    logical, intent(in), optional :: reversed
    integer(int8), pointer :: source(:)
    integer :: i, axis, rank
    i = place(list, path)
    rank = size(dims)
    associate (e => list%entries(i))
      if (allocated(e%problem)) deallocate (e%problem)
      if (.not. contiguous) e%problem = 'the array is a section that is not contiguous: copy it'
      if (rank > TESSERACT_MAX_RANK) e%problem = 'the array''s rank is above 7'
      e%has_tensor = .true.
      e%by_value = by_value
      if (allocated(e%problem)) return
      e%tensor = dl_tensor(data=address, ndim=rank, dtype=dtype)
      if (by_value) then
        call c_f_pointer(address, source, [bytes_of(dtype)])
        e%value = transfer([source, spread(0_int8, 1, 16 - size(source))], e%value)
      end if
      if (is_reversed(reversed)) then
        e%shape(:rank) = dims(rank:1:-1)
        e%strides(:rank) = [(product(e%shape(axis + 1:rank)), axis = 1, rank)]
      else
        e%shape(:rank) = dims
        e%strides(:rank) = [(product(dims(:axis - 1)), axis = 1, rank)]
      end if
    end associate
  end subroutine

  logical function is_reversed(reversed)
    logical, intent(in), optional :: reversed
    is_reversed = .false.
    if (present(reversed)) is_reversed = reversed
  end function

  ! The tensor of an entry, null where it has none.  Entries move when a list grows, so the pointers
  ! in the tensor are written here.
  type(c_ptr) function tensor_of(e)
    type(entry), intent(inout), target :: e
    tensor_of = c_null_ptr
    if (.not. e%has_tensor) return
    if (e%by_value) e%tensor%data = c_loc(e%value)
    if (e%tensor%ndim > 0) then
      e%tensor%shape = c_loc(e%shape)
      e%tensor%strides = c_loc(e%strides)
    end if
    tensor_of = c_loc(e%tensor)
  end function

  ! Makes C's view of a list, and reports arrays that can't be given.
  subroutine expose(list, c, failure)
    type(tesseract_list), intent(inout), target :: list
    type(c_list), intent(inout), target :: c
    type(tesseract_error), intent(inout) :: failure
    integer :: i
    allocate (c%leaves(list%count))
    do i = 1, list%count
      associate (e => list%entries(i))
        if (allocated(e%problem)) then
          failure = failure_of(TESSERACT_ERROR_INVALID_ARGUMENT, e%problem, e%path)
        end if
        c%leaves(i)%path = tesseract_text(e%path)
        c%leaves(i)%tensor = tensor_of(e)
      end associate
    end do
    c%head%count = list%count
    c%head%items = c_loc(c%leaves)
    if (allocated(list%text)) c%head%json = tesseract_text(list%text)
  end subroutine

  ! The same for wanted results: absent is all.
  subroutine expose_wanted(c, failure, list)
    type(c_list), intent(inout), target :: c
    type(tesseract_error), intent(inout) :: failure
    type(tesseract_list), intent(inout), optional :: list
    if (present(list)) then
      call expose(list, c, failure)
    else
      c%head%count = TESSERACT_ALL
    end if
  end subroutine

  subroutine set_real64(self, path, array, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_REAL64
    real(real64), intent(in), target :: array(..)
    include 'tesseract_set.inc'
  end subroutine

  subroutine into_real64(self, path, array, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_REAL64
    real(real64), intent(inout), target :: array(..)
    include 'tesseract_into.inc'
  end subroutine

  subroutine set_real32(self, path, array, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_REAL32
    real(real32), intent(in), target :: array(..)
    include 'tesseract_set.inc'
  end subroutine

  subroutine into_real32(self, path, array, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_REAL32
    real(real32), intent(inout), target :: array(..)
    include 'tesseract_into.inc'
  end subroutine

  subroutine set_int64(self, path, array, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_INT64
    integer(int64), intent(in), target :: array(..)
    include 'tesseract_set.inc'
  end subroutine

  subroutine into_int64(self, path, array, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_INT64
    integer(int64), intent(inout), target :: array(..)
    include 'tesseract_into.inc'
  end subroutine

  subroutine set_int32(self, path, array, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_INT32
    integer(int32), intent(in), target :: array(..)
    include 'tesseract_set.inc'
  end subroutine

  subroutine into_int32(self, path, array, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_INT32
    integer(int32), intent(inout), target :: array(..)
    include 'tesseract_into.inc'
  end subroutine

  subroutine set_complex128(self, path, array, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_COMPLEX128
    complex(real64), intent(in), target :: array(..)
    include 'tesseract_set.inc'
  end subroutine

  subroutine into_complex128(self, path, array, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_COMPLEX128
    complex(real64), intent(inout), target :: array(..)
    include 'tesseract_into.inc'
  end subroutine

  subroutine set_bool(self, path, array, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_BOOL
    logical(c_bool), intent(in), target :: array(..)
    include 'tesseract_set.inc'
  end subroutine

  subroutine into_bool(self, path, array, reversed)
    type(dl_data_type), parameter :: dtype = DTYPE_BOOL
    logical(c_bool), intent(inout), target :: array(..)
    include 'tesseract_into.inc'
  end subroutine
end module
