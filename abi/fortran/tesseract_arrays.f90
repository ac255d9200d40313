! Fortran arrays and tensors: what the modules tesseract_host and tesseract_plugin share.
!
! Memory order.  Indices mean the same on both sides: a(i, j) is element [i-1, j-1].  A Fortran
! array is then a tensor with column-major strides, which the host converts for a component that
! wants row-major ones, as most do.  With reversed=.true. nothing is converted: a(i, j) is element
! [j-1, i-1], and the array a compact row-major tensor of the reversed shape.
!
! An operation on arrays of any type is one included file, tesseract_*.inc, which lies beside the
! modules; each procedure that includes it declares `array` of its type.
module tesseract_arrays
  use, intrinsic :: iso_fortran_env, only: int8, int32, int64, real32, real64
  use tesseract_host_c
  implicit none
  public

  integer, parameter :: TESSERACT_MAX_RANK = 7

  integer(c_int8_t), parameter, private :: BITS_128 = ibset(0_c_int8_t, 7) ! unsigned
  type(dl_data_type), parameter :: DTYPE_REAL32 = dl_data_type(DL_FLOAT, 32, 1)
  type(dl_data_type), parameter :: DTYPE_REAL64 = dl_data_type(DL_FLOAT, 64, 1)
  type(dl_data_type), parameter :: DTYPE_INT32 = dl_data_type(DL_INT, 32, 1)
  type(dl_data_type), parameter :: DTYPE_INT64 = dl_data_type(DL_INT, 64, 1)
  type(dl_data_type), parameter :: DTYPE_COMPLEX128 = dl_data_type(DL_COMPLEX, BITS_128, 1)
  type(dl_data_type), parameter :: DTYPE_BOOL = dl_data_type(DL_BOOL, 8, 1)

  ! Where a zero-size tensor without data is said to be, so that its array is associated.
  complex(real64), target, save, private :: nowhere = 0

  ! Where a tensor's elements are and how a Fortran array over them is shaped.
  type :: tesseract_layout
    type(c_ptr) :: address = c_null_ptr
    integer :: rank = 0
    integer(int64) :: dims(TESSERACT_MAX_RANK) = 0
    integer(int64) :: strides(TESSERACT_MAX_RANK) = 0 ! in elements, of the array's axes
    character(len=:), allocatable :: problem ! why it can't be one
  end type

  ! Associates a pointer of any rank up to 7 with `address`, which may be null: not associated.
  interface tesseract_point
    module procedure point_real64, point_real32, point_int64, point_int32, point_complex128, &
      point_bool
  end interface

contains

  ! The layout of a tensor for a Fortran array of this dtype and rank, or the problem.
  function tesseract_layout_of(tensor, dtype, rank, reversed) result(layout)
    type(dl_tensor), intent(in) :: tensor
    type(dl_data_type), intent(in) :: dtype
    integer, intent(in) :: rank
    logical, intent(in) :: reversed
    type(tesseract_layout) :: layout
    integer(int64), pointer :: shape(:), strides(:)
    integer(int64) :: address
    integer :: axis
    if (tensor%dtype%code /= dtype%code .or. tensor%dtype%bits /= dtype%bits &
        .or. tensor%dtype%lanes /= dtype%lanes) then
      layout%problem = 'its dtype is ' // dtype_text(tensor%dtype) // ', not the array''s ' &
        // dtype_text(dtype)
    else if (tensor%ndim /= rank) then
      layout%problem = 'its rank is ' // text_of(int(tensor%ndim, int64)) // ', not the array''s ' &
        // text_of(int(rank, int64))
    else if (all(tensor%device%device_type /= [DL_CPU, DL_CUDA_HOST, DL_CUDA_MANAGED])) then
      layout%problem = 'it is not in memory that the CPU can read'
    end if
    if (allocated(layout%problem)) return
    layout%rank = rank
    if (rank > 0) then
      call c_f_pointer(tensor%shape, shape, [rank])
      layout%dims(:rank) = shape
      if (c_associated(tensor%strides)) then
        call c_f_pointer(tensor%strides, strides, [rank])
        layout%strides(:rank) = strides
      else
        layout%strides(rank) = 1
        do axis = rank - 1, 1, -1
          layout%strides(axis) = layout%strides(axis + 1) * layout%dims(axis + 1)
        end do
      end if
      if (reversed) then
        layout%dims(:rank) = layout%dims(rank:1:-1)
        layout%strides(:rank) = layout%strides(rank:1:-1)
      end if
    end if
    if (.not. c_associated(tensor%data) .and. any(layout%dims(:rank) == 0)) then
      layout%address = c_loc(nowhere)
      return
    end if
    address = transfer(tensor%data, address) + tensor%byte_offset
    layout%address = transfer(address, layout%address)
  end function

  ! Whether a Fortran array over the layout's elements has its indices.
  pure logical function tesseract_is_compact(layout) result(compact)
    type(tesseract_layout), intent(in) :: layout
    integer(int64) :: expected
    integer :: axis
    compact = .true.
    if (any(layout%dims(:layout%rank) == 0)) return
    expected = 1
    do axis = 1, layout%rank
      if (layout%dims(axis) /= 1 .and. layout%strides(axis) /= expected) compact = .false.
      expected = expected * layout%dims(axis)
    end do
  end function

  ! Copies the elements of a layout, `bytes` long each, to the compact array of its dims at `to`.
  subroutine tesseract_copy_elements(layout, bytes, to)
    type(tesseract_layout), intent(in) :: layout
    integer, intent(in) :: bytes
    type(c_ptr), intent(in) :: to
    integer(int8), pointer :: source(:), target(:)
    integer(int64) :: index(TESSERACT_MAX_RANK), from, k, extent, count
    integer :: axis
    associate (dims => layout%dims(:layout%rank), strides => layout%strides(:layout%rank))
      count = product(dims)
      if (count == 0) return
      extent = 1 + sum((dims - 1) * strides)
      call c_f_pointer(layout%address, source, [extent * bytes])
      call c_f_pointer(to, target, [count * bytes])
      if (tesseract_is_compact(layout)) then
        target = source
        return
      end if
      index = 0
      do k = 0, count - 1
        from = sum(index(:layout%rank) * strides) * bytes
        target(k * bytes + 1:(k + 1) * bytes) = source(from + 1:from + bytes)
        do axis = 1, layout%rank
          index(axis) = index(axis) + 1
          if (index(axis) < dims(axis)) exit
          index(axis) = 0
        end do
      end do
    end associate
  end subroutine

  ! The size of an element.
  pure integer function bytes_of(dtype)
    type(dl_data_type), intent(in) :: dtype
    bytes_of = modulo(int(dtype%bits), 256) / 8
  end function

  ! An integer, a dtype and a shape for messages.

  pure function text_of(number) result(text)
    integer(int64), intent(in) :: number
    character(len=:), allocatable :: text
    character(len=20) :: buffer
    write (buffer, '(i0)') number
    text = trim(buffer)
  end function

  pure function dtype_text(dtype) result(text)
    type(dl_data_type), intent(in) :: dtype
    character(len=:), allocatable :: text
    integer(int64) :: bits
    bits = modulo(int(dtype%bits, int64), 256_int64)
    select case (dtype%code)
    case (DL_INT); text = 'int' // text_of(bits)
    case (DL_UINT); text = 'uint' // text_of(bits)
    case (DL_FLOAT); text = 'float' // text_of(bits)
    case (DL_BFLOAT); text = 'bfloat' // text_of(bits)
    case (DL_COMPLEX); text = 'complex' // text_of(bits)
    case (DL_BOOL); text = 'bool'
    case default; text = 'another kind''s ' // text_of(bits)
    end select
  end function

  pure function shape_text(dims) result(text)
    integer(int64), intent(in) :: dims(:)
    character(len=:), allocatable :: text
    integer :: axis
    text = '('
    do axis = 1, size(dims)
      if (axis > 1) text = text // ', '
      text = text // text_of(dims(axis))
    end do
    text = text // ')'
  end function

  subroutine point_real64(array, address, dims)
    real(real64), pointer, intent(out) :: array(..)
    include 'tesseract_point.inc'
  end subroutine

  subroutine point_real32(array, address, dims)
    real(real32), pointer, intent(out) :: array(..)
    include 'tesseract_point.inc'
  end subroutine

  subroutine point_int64(array, address, dims)
    integer(int64), pointer, intent(out) :: array(..)
    include 'tesseract_point.inc'
  end subroutine

  subroutine point_int32(array, address, dims)
    integer(int32), pointer, intent(out) :: array(..)
    include 'tesseract_point.inc'
  end subroutine

  subroutine point_complex128(array, address, dims)
    complex(real64), pointer, intent(out) :: array(..)
    include 'tesseract_point.inc'
  end subroutine

  subroutine point_bool(array, address, dims)
    logical(c_bool), pointer, intent(out) :: array(..)
    include 'tesseract_point.inc'
  end subroutine
end module
