! Sizes and offsets of the structs of tesseract_host_c, for layout_test.cpp.
module layout
  use tesseract_host_c
  implicit none
  private

  type(dl_tensor), target, save :: tensor
  type(dl_managed_tensor_versioned), target, save :: managed
  type(tesseract_range), target, save :: range
  type(tesseract_string), target, save :: string
  type(tesseract_owner), target, save :: owner
  type(tesseract_leaf), target, save :: leaf
  type(tesseract_leaves), target, save :: leaves
  type(tesseract_signature), target, save :: signature
  type(tesseract_call_options), target, save :: call_options
  type(tesseract_open_options), target, save :: open_options
  type(tesseract_statistics), target, save :: statistics
  type(tesseract_host_table), target, save :: host
  type(tesseract_frame), target, save :: frame
  type(tesseract_plugin_table), target, save :: plugin

contains

  ! The constants, in the order of layout_test.cpp; returns how many.
  integer(c_int32_t) function fortran_constants(numbers) result(count) bind(c)
    integer(c_int64_t), intent(out) :: numbers(64)
    integer(c_int64_t), parameter :: of_32_bits(*) = int([TESSERACT_ABI_MIN, TESSERACT_ABI_MAX, TESSERACT_OK, &
      TESSERACT_ERROR_INVALID_ARGUMENT, TESSERACT_ERROR_SCHEMA, TESSERACT_ERROR_DEVICE, &
      TESSERACT_ERROR_UNSUPPORTED, TESSERACT_ERROR_NOT_FOUND, TESSERACT_ERROR_OUT_OF_DOMAIN, &
      TESSERACT_ERROR_COMPONENT, TESSERACT_ERROR_OUT_OF_MEMORY, TESSERACT_ERROR_CANCELLED, &
      TESSERACT_ERROR_VERSION, TESSERACT_ERROR_UNAVAILABLE, TESSERACT_ERROR_INTERNAL, &
      TESSERACT_DETAIL_COMPONENT, TESSERACT_DETAIL_ENDPOINT, TESSERACT_DETAIL_PATH, &
      TESSERACT_DETAIL_TRACEBACK, TESSERACT_LOG_DEBUG, TESSERACT_LOG_INFO, &
      TESSERACT_LOG_WARNING, TESSERACT_LOG_ERROR, TESSERACT_LOG_OUTPUT, &
      TESSERACT_ENDPOINT_APPLY, TESSERACT_ENDPOINT_JVP, TESSERACT_ENDPOINT_VJP, &
      TESSERACT_ENDPOINT_JACOBIAN, TESSERACT_ENDPOINT_ABSTRACT_EVAL, TESSERACT_NO_COPY, &
      TESSERACT_OPEN_LISTING, TESSERACT_FRAME_ALL, TESSERACT_TEXT_DESCRIPTION, &
      TESSERACT_TEXT_OPENAPI, TESSERACT_TEXT_NAME, TESSERACT_COPY_LAYOUT, TESSERACT_COPY_DTYPE, &
      TESSERACT_COPY_DEVICE, TESSERACT_COPY_OWNED, DL_CPU, DL_CUDA, DL_CUDA_HOST, &
      DL_CUDA_MANAGED], c_int64_t)
    integer(c_int64_t), parameter :: all_of_them(*) = [of_32_bits, TESSERACT_NTS, TESSERACT_ALL, &
      int([DL_INT, DL_UINT, DL_FLOAT, DL_BFLOAT, DL_COMPLEX, DL_BOOL], c_int64_t)]
    numbers = 0
    count = size(all_of_them, kind=c_int32_t)
    numbers(:count) = all_of_them
  end function

  ! Of struct `which`, counted from 0: its size, what its member `size` is initialised to (0 where
  ! it has none), and the offsets of its members.  Returns how many numbers; 0: no such struct.
  integer(c_int32_t) function fortran_layout(which, numbers) result(count) bind(c)
    integer(c_int32_t), value :: which
    integer(c_int64_t), intent(out) :: numbers(32)
    numbers = 0
    count = 0
    select case (which)
    case (0)
      call record(c_loc(tensor), c_sizeof(tensor), 0, [c_loc(tensor%data), c_loc(tensor%device), &
        c_loc(tensor%ndim), c_loc(tensor%dtype), c_loc(tensor%shape), c_loc(tensor%strides), &
        c_loc(tensor%byte_offset)])
    case (1)
      call record(c_loc(managed), c_sizeof(managed), 0, [c_loc(managed%major), &
        c_loc(managed%minor), c_loc(managed%manager_ctx), c_loc(managed%deleter), &
        c_loc(managed%flags), c_loc(managed%tensor)])
    case (2)
      call record(c_loc(range), c_sizeof(range), 0, [c_loc(range%min), c_loc(range%max)])
    case (3)
      call record(c_loc(string), c_sizeof(string), 0, [c_loc(string%data), c_loc(string%length)])
    case (4)
      call record(c_loc(owner), c_sizeof(owner), 0, [c_loc(owner%object), c_loc(owner%retain), &
        c_loc(owner%release)])
    case (5)
      call record(c_loc(leaf), c_sizeof(leaf), 0, [c_loc(leaf%path), c_loc(leaf%tensor), &
        c_loc(leaf%owner)])
    case (6)
      call record(c_loc(leaves), c_sizeof(leaves), leaves%size, [c_loc(leaves%size), &
        c_loc(leaves%flags), c_loc(leaves%count), c_loc(leaves%items), c_loc(leaves%json)])
    case (7)
      call record(c_loc(signature), c_sizeof(signature), signature%size, [c_loc(signature%size), &
        c_loc(signature%flags), c_loc(signature%endpoint), c_loc(signature%reserved), &
        c_loc(signature%inputs), c_loc(signature%of), c_loc(signature%wrt)])
    case (8)
      call record(c_loc(call_options), c_sizeof(call_options), call_options%size, &
        [c_loc(call_options%size), c_loc(call_options%flags), c_loc(call_options%stream), &
        c_loc(call_options%cancel), c_loc(call_options%owners)])
    case (9)
      call record(c_loc(open_options), c_sizeof(open_options), open_options%size, &
        [c_loc(open_options%size), c_loc(open_options%flags), c_loc(open_options%json), &
        c_loc(open_options%log), c_loc(open_options%log_data), c_loc(open_options%log_free)])
    case (10)
      call record(c_loc(statistics), c_sizeof(statistics), statistics%size, &
        [c_loc(statistics%size), c_loc(statistics%flags), c_loc(statistics%calls), &
        c_loc(statistics%prepared), c_loc(statistics%layout_copies), &
        c_loc(statistics%layout_bytes), c_loc(statistics%dtype_copies), &
        c_loc(statistics%dtype_bytes), c_loc(statistics%device_copies), &
        c_loc(statistics%device_bytes), c_loc(statistics%owned_copies), &
        c_loc(statistics%owned_bytes)])
    case (11)
      call record(c_loc(host), c_sizeof(host), 0, [c_loc(host%size), c_loc(host%flags), &
        c_loc(host%abi), c_loc(host%error_set), c_loc(host%error_detail), c_loc(host%cancelled), &
        c_loc(host%allocate_output), c_loc(host%add_output), c_loc(host%output_json), &
        c_loc(host%copied), c_loc(host%log), c_loc(host%extension)])
    case (12)
      call record(c_loc(frame), c_sizeof(frame), 0, [c_loc(frame%size), c_loc(frame%flags), &
        c_loc(frame%endpoint), c_loc(frame%reserved), c_loc(frame%host), c_loc(frame%log), &
        c_loc(frame%signature), c_loc(frame%inputs), c_loc(frame%seeds), c_loc(frame%outputs), &
        c_loc(frame%owners), c_loc(frame%n_inputs), c_loc(frame%n_seeds), &
        c_loc(frame%n_outputs), c_loc(frame%stream)])
    case (13)
      call record(c_loc(plugin), c_sizeof(plugin), plugin%size, [c_loc(plugin%size), &
        c_loc(plugin%flags), c_loc(plugin%abi), c_loc(plugin%create), c_loc(plugin%destroy), &
        c_loc(plugin%describe), c_loc(plugin%prepare), c_loc(plugin%forget), c_loc(plugin%apply), &
        c_loc(plugin%jvp), c_loc(plugin%vjp), c_loc(plugin%jacobian), &
        c_loc(plugin%abstract_eval), c_loc(plugin%extension)])
    end select

  contains

    subroutine record(base, bytes, size_member, members)
      type(c_ptr), intent(in) :: base, members(:)
      integer(c_size_t), intent(in) :: bytes
      integer(c_int32_t), intent(in) :: size_member
      integer :: i
      count = 2 + size(members)
      numbers(1) = int(bytes, c_int64_t)
      numbers(2) = size_member
      do i = 1, size(members)
        numbers(2 + i) = transfer(members(i), 0_c_int64_t) - transfer(base, 0_c_int64_t)
      end do
    end subroutine
  end function
end module
