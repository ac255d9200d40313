! Opening components and calling them from Fortran.
!
!   use tesseract_host
!   type(tesseract_component) :: heat
!   type(tesseract_list) :: inputs
!   type(tesseract_result) :: result
!   call heat%open('libheat.so')
!   call inputs%set('u', u)
!   call heat%apply(inputs, result)
!   call result%get('u', u)
!
! Compile before it, in this order: tesseract_host_c.f90, tesseract_arrays.f90 (which explains
! memory order, and so `reversed`), tesseract_lists.f90 and tesseract_results.f90 (which list what
! can be done with those); link libtesseract_host.  Arrays are real(real64), real(real32),
! integer(int64), integer(int32), complex(real64) or logical(c_bool), of ranks 0 to 7, contiguous.
!
! Errors.  Whatever can fail has an optional argument `error`, which is set on each call.  Without
! it a failure stops the program with the message.
!
! Ownership.  Components, prepared calls and results are closed or freed by the program; assignment
! copies the handle, not the object.  Opening, preparing and calling first free what their argument
! held.  A list borrows its arrays, which must have the TARGET attribute and stay allocated as long
! as the list is used; only a scalar given by `set` is copied.
!
! Threads.  Any number of threads may call one component or prepared call at once, each with lists,
! results and errors of its own.
module tesseract_host
  use tesseract_results
  use tesseract_lists
  use tesseract_arrays
  implicit none
  private

  public :: tesseract_component, tesseract_call, tesseract_list, tesseract_result, &
    tesseract_error, tesseract_statistics
  public :: TESSERACT_OK, TESSERACT_ERROR_INVALID_ARGUMENT, TESSERACT_ERROR_SCHEMA, &
    TESSERACT_ERROR_DEVICE, TESSERACT_ERROR_UNSUPPORTED, TESSERACT_ERROR_NOT_FOUND, &
    TESSERACT_ERROR_OUT_OF_DOMAIN, TESSERACT_ERROR_COMPONENT, TESSERACT_ERROR_OUT_OF_MEMORY, &
    TESSERACT_ERROR_CANCELLED, TESSERACT_ERROR_VERSION, TESSERACT_ERROR_UNAVAILABLE, &
    TESSERACT_ERROR_INTERNAL
  public :: real64, real32, int64, int32, c_bool

  type :: path_text
    character(len=:), allocatable :: text
  end type

  ! A prepared call, for hot loops.  Keeps its component alive.
  !   run([inputs, outputs, seeds, result, error])  lists with the paths that were prepared, in
  !       their order (of a Jacobian's outputs "of/wrt"); seeds are tangents or cotangents; without
  !       `result` every output needs an array
  !   free()
  type :: tesseract_call
    private
    type(c_ptr) :: handle = c_null_ptr
    type(path_text), allocatable :: inputs(:), seeds(:), outputs(:)
  contains
    procedure :: run => call_run
    procedure :: free => call_free
  end type

  ! One opened instance.  In calls, `of` and `wrt` are the results wanted, default all; without
  ! `result` only those arrays are written that they give.
  !   open(source [, options, listing, error])   options: a JSON object; listing: run no code
  !   open_tesseract_api(path [, options, error])  a Python module, whatever its file name
  !   apply(inputs [, result, of, no_copy, error])
  !   jvp(inputs, tangents [, result, of, no_copy, error])
  !   vjp(inputs, cotangents [, result, wrt, no_copy, error])
  !   jacobian(inputs, result [, of, wrt, no_copy, error])
  !   abstract_eval(inputs, result [, error])
  !   prepare_apply(call, inputs [, of, no_copy, error]), and so on: the same, to be run often; of
  !       arrays only dtype and rank count
  !   description(), openapi(), name()  texts; empty where they can't be had
  !   statistics()  counts since open
  !   close()
  type :: tesseract_component
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: open => component_open
    procedure :: open_tesseract_api => component_open_tesseract_api
    procedure :: close => component_close
    procedure :: apply => component_apply
    procedure :: jvp => component_jvp
    procedure :: vjp => component_vjp
    procedure :: jacobian => component_jacobian
    procedure :: abstract_eval => component_abstract_eval
    procedure :: prepare_apply
    procedure :: prepare_jvp
    procedure :: prepare_vjp
    procedure :: prepare_jacobian
    procedure :: description => component_description
    procedure :: openapi => component_openapi
    procedure :: name => component_name
    procedure :: statistics => component_statistics
  end type

contains

  ! ---- Components -------------------------------------------------------------------------------

  subroutine component_open(self, source, options, listing, error)
    class(tesseract_component), intent(inout) :: self
    character(len=*), intent(in) :: source
    character(len=*), intent(in), optional :: options
    logical, intent(in), optional :: listing
    type(tesseract_error), intent(out), optional :: error
    call open_by(tesseract_open, self, source, options, listing, error)
  end subroutine

  subroutine component_open_tesseract_api(self, path, options, error)
    class(tesseract_component), intent(inout) :: self
    character(len=*), intent(in) :: path
    character(len=*), intent(in), optional :: options
    type(tesseract_error), intent(out), optional :: error
    call open_by(tesseract_from_tesseract_api, self, path, options, .false., error)
  end subroutine

  subroutine open_by(open_function, self, source, options, listing, error)
    procedure(tesseract_open) :: open_function
    class(tesseract_component), intent(inout) :: self
    character(len=*), intent(in), target :: source
    character(len=*), intent(in), optional, target :: options
    logical, intent(in), optional :: listing
    type(tesseract_error), intent(out), optional :: error
    type(tesseract_open_options), target :: c_options
    type(c_ptr) :: c_error
    integer(c_int32_t) :: status
    call self%close()
    if (present(options)) c_options%json = tesseract_text(options)
    if (present(listing)) then
      if (listing) c_options%flags = TESSERACT_OPEN_LISTING
    end if
    c_error = c_null_ptr
    status = open_function(source, len(source, c_int64_t), c_loc(c_options), self%handle, c_error)
    call report(taken(status, c_error), error)
  end subroutine

  subroutine component_close(self)
    class(tesseract_component), intent(inout) :: self
    call tesseract_close(self%handle)
    self%handle = c_null_ptr
  end subroutine

  subroutine component_apply(self, inputs, result, of, no_copy, error)
    class(tesseract_component), intent(in) :: self
    type(tesseract_list), intent(inout) :: inputs
    type(tesseract_result), intent(inout), optional :: result
    type(tesseract_list), intent(inout), optional :: of
    logical, intent(in), optional :: no_copy
    type(tesseract_error), intent(out), optional :: error
    call call_once(self, TESSERACT_ENDPOINT_APPLY, inputs, no_copy, result, error, wanted=of)
  end subroutine

  subroutine component_jvp(self, inputs, tangents, result, of, no_copy, error)
    class(tesseract_component), intent(in) :: self
    type(tesseract_list), intent(inout) :: inputs, tangents
    type(tesseract_result), intent(inout), optional :: result
    type(tesseract_list), intent(inout), optional :: of
    logical, intent(in), optional :: no_copy
    type(tesseract_error), intent(out), optional :: error
    call call_once(self, TESSERACT_ENDPOINT_JVP, inputs, no_copy, result, error, tangents, of)
  end subroutine

  subroutine component_vjp(self, inputs, cotangents, result, wrt, no_copy, error)
    class(tesseract_component), intent(in) :: self
    type(tesseract_list), intent(inout) :: inputs, cotangents
    type(tesseract_result), intent(inout), optional :: result
    type(tesseract_list), intent(inout), optional :: wrt
    logical, intent(in), optional :: no_copy
    type(tesseract_error), intent(out), optional :: error
    call call_once(self, TESSERACT_ENDPOINT_VJP, inputs, no_copy, result, error, cotangents, wrt)
  end subroutine

  subroutine component_jacobian(self, inputs, result, of, wrt, no_copy, error)
    class(tesseract_component), intent(in) :: self
    type(tesseract_list), intent(inout) :: inputs
    type(tesseract_result), intent(inout) :: result
    type(tesseract_list), intent(inout), optional :: of, wrt
    logical, intent(in), optional :: no_copy
    type(tesseract_error), intent(out), optional :: error
    call call_once(self, TESSERACT_ENDPOINT_JACOBIAN, inputs, no_copy, result, error, of, wrt)
  end subroutine

  subroutine component_abstract_eval(self, inputs, result, error)
    class(tesseract_component), intent(in) :: self
    type(tesseract_list), intent(inout) :: inputs
    type(tesseract_result), intent(inout) :: result
    type(tesseract_error), intent(out), optional :: error
    call call_once(self, TESSERACT_ENDPOINT_ABSTRACT_EVAL, inputs, .false., result, error)
  end subroutine

  ! `second` is the list that stands before the wanted one in the C function, if any.
  subroutine call_once(self, endpoint, inputs, no_copy, result, error, second, wanted)
    class(tesseract_component), intent(in) :: self
    integer(c_int32_t), intent(in) :: endpoint
    type(tesseract_list), intent(inout) :: inputs
    logical, intent(in), optional :: no_copy
    type(tesseract_result), intent(inout), optional :: result
    type(tesseract_error), intent(out), optional :: error
    type(tesseract_list), intent(inout), optional :: second, wanted
    type(c_list), target :: c_inputs, c_second, c_wanted
    type(tesseract_call_options), target :: options
    type(tesseract_error) :: failure
    type(c_ptr) :: c_result, c_error
    integer(c_int32_t) :: status
    if (present(result)) call result%free()
    call expose(inputs, c_inputs, failure)
    call expose_wanted(c_second, failure, second)
    call expose_wanted(c_wanted, failure, wanted)
    if (failure%status == TESSERACT_OK) then
      options%flags = call_flags(no_copy)
      c_result = c_null_ptr
      c_error = c_null_ptr
      associate (component => self%handle, in => c_loc(c_inputs%head), &
          middle => c_loc(c_second%head), out => c_loc(c_wanted%head), o => c_loc(options))
        select case (endpoint)
        case (TESSERACT_ENDPOINT_APPLY)
          status = tesseract_apply(component, in, out, o, c_result, c_error)
        case (TESSERACT_ENDPOINT_JVP)
          status = tesseract_jvp(component, in, middle, out, o, c_result, c_error)
        case (TESSERACT_ENDPOINT_VJP)
          status = tesseract_vjp(component, in, middle, out, o, c_result, c_error)
        case (TESSERACT_ENDPOINT_JACOBIAN)
          status = tesseract_jacobian(component, in, middle, out, o, c_result, c_error)
        case default
          status = tesseract_abstract_eval(component, in, o, c_result, c_error)
        end select
      end associate
      failure = taken(status, c_error)
      if (present(result)) then
        result%handle = c_result
      else
        call tesseract_result_free(c_result)
      end if
    end if
    call report(failure, error)
  end subroutine

  integer(c_int32_t) function call_flags(no_copy)
    logical, intent(in), optional :: no_copy
    call_flags = 0
    if (present(no_copy)) then
      if (no_copy) call_flags = TESSERACT_NO_COPY
    end if
  end function

  function component_description(self) result(text)
    class(tesseract_component), intent(in) :: self
    character(len=:), allocatable :: text
    text = component_text(self, TESSERACT_TEXT_DESCRIPTION)
  end function

  function component_openapi(self) result(text)
    class(tesseract_component), intent(in) :: self
    character(len=:), allocatable :: text
    text = component_text(self, TESSERACT_TEXT_OPENAPI)
  end function

  function component_name(self) result(text)
    class(tesseract_component), intent(in) :: self
    character(len=:), allocatable :: text
    text = component_text(self, TESSERACT_TEXT_NAME)
  end function

  function component_text(self, which) result(text)
    class(tesseract_component), intent(in) :: self
    integer(c_int32_t), intent(in) :: which
    character(len=:), allocatable :: text
    type(c_ptr) :: data, c_error
    integer(c_int64_t) :: length
    integer(c_int32_t) :: status
    data = c_null_ptr
    c_error = c_null_ptr
    length = 0
    status = tesseract_component_text(self%handle, which, data, length, c_error)
    if (status /= TESSERACT_OK) call tesseract_error_free(c_error)
    text = tesseract_copy(data, length)
  end function

  function component_statistics(self) result(statistics)
    class(tesseract_component), intent(in) :: self
    type(tesseract_statistics) :: statistics
    integer(c_int32_t) :: status
    status = tesseract_component_statistics(self%handle, statistics)
    if (status /= TESSERACT_OK) statistics = tesseract_statistics()
  end function

  ! ---- Prepared calls ---------------------------------------------------------------------------

  subroutine prepare_apply(self, call, inputs, of, no_copy, error)
    class(tesseract_component), intent(in) :: self
    type(tesseract_call), intent(inout) :: call
    type(tesseract_list), intent(inout) :: inputs
    type(tesseract_list), intent(inout), optional :: of
    logical, intent(in), optional :: no_copy
    type(tesseract_error), intent(out), optional :: error
    call prepare(self, call, TESSERACT_ENDPOINT_APPLY, inputs, no_copy, error, of=of)
  end subroutine

  subroutine prepare_jvp(self, call, inputs, tangents, of, no_copy, error)
    class(tesseract_component), intent(in) :: self
    type(tesseract_call), intent(inout) :: call
    type(tesseract_list), intent(inout) :: inputs, tangents
    type(tesseract_list), intent(inout), optional :: of
    logical, intent(in), optional :: no_copy
    type(tesseract_error), intent(out), optional :: error
    call prepare(self, call, TESSERACT_ENDPOINT_JVP, inputs, no_copy, error, of, tangents)
  end subroutine

  subroutine prepare_vjp(self, call, inputs, cotangents, wrt, no_copy, error)
    class(tesseract_component), intent(in) :: self
    type(tesseract_call), intent(inout) :: call
    type(tesseract_list), intent(inout) :: inputs, cotangents
    type(tesseract_list), intent(inout), optional :: wrt
    logical, intent(in), optional :: no_copy
    type(tesseract_error), intent(out), optional :: error
    call prepare(self, call, TESSERACT_ENDPOINT_VJP, inputs, no_copy, error, cotangents, wrt)
  end subroutine

  subroutine prepare_jacobian(self, call, inputs, of, wrt, no_copy, error)
    class(tesseract_component), intent(in) :: self
    type(tesseract_call), intent(inout) :: call
    type(tesseract_list), intent(inout) :: inputs
    type(tesseract_list), intent(inout), optional :: of, wrt
    logical, intent(in), optional :: no_copy
    type(tesseract_error), intent(out), optional :: error
    call prepare(self, call, TESSERACT_ENDPOINT_JACOBIAN, inputs, no_copy, error, of, wrt)
  end subroutine

  subroutine prepare(self, call, endpoint, inputs, no_copy, error, of, wrt)
    class(tesseract_component), intent(in) :: self
    type(tesseract_call), intent(inout) :: call
    integer(c_int32_t), intent(in) :: endpoint
    type(tesseract_list), intent(inout) :: inputs
    logical, intent(in), optional :: no_copy
    type(tesseract_error), intent(out), optional :: error
    type(tesseract_list), intent(inout), optional :: of, wrt
    type(c_list), target :: c_inputs, c_of, c_wrt
    type(tesseract_signature) :: signature
    type(tesseract_error) :: failure
    type(c_ptr) :: c_error
    integer(c_int32_t) :: status
    call call%free()
    call expose(inputs, c_inputs, failure)
    call expose_wanted(c_of, failure, of)
    call expose_wanted(c_wrt, failure, wrt)
    if (failure%status == TESSERACT_OK) then
      signature%flags = call_flags(no_copy)
      signature%endpoint = endpoint
      signature%inputs = c_loc(c_inputs%head)
      signature%of = c_loc(c_of%head)
      if (endpoint /= TESSERACT_ENDPOINT_APPLY) signature%wrt = c_loc(c_wrt%head)
      c_error = c_null_ptr
      status = tesseract_prepare(self%handle, signature, call%handle, c_error)
      failure = taken(status, c_error)
      if (status == TESSERACT_OK) call remember_paths(call)
    end if
    call report(failure, error)
  end subroutine

  ! The order of a call's tensors, as resolved.
  subroutine remember_paths(call)
    type(tesseract_call), intent(inout) :: call
    type(tesseract_signature), pointer :: signature
    type(path_text), allocatable :: of(:), wrt(:)
    integer :: i, j
    call c_f_pointer(tesseract_call_signature(call%handle), signature)
    call get_paths(signature%inputs, call%inputs)
    call get_paths(signature%of, of)
    call get_paths(signature%wrt, wrt)
    select case (signature%endpoint)
    case (TESSERACT_ENDPOINT_JVP)
      call move_alloc(wrt, call%seeds)
      call move_alloc(of, call%outputs)
    case (TESSERACT_ENDPOINT_VJP)
      call move_alloc(of, call%seeds)
      call move_alloc(wrt, call%outputs)
    case (TESSERACT_ENDPOINT_JACOBIAN)
      allocate (call%seeds(0), call%outputs(size(of) * size(wrt)))
      do i = 1, size(of)
        do j = 1, size(wrt)
          call%outputs((i - 1) * size(wrt) + j)%text = of(i)%text // '/' // wrt(j)%text
        end do
      end do
    case default
      allocate (call%seeds(0))
      call move_alloc(of, call%outputs)
    end select
  end subroutine

  subroutine get_paths(address, paths)
    type(c_ptr), intent(in) :: address
    type(path_text), allocatable, intent(out) :: paths(:)
    type(tesseract_leaves), pointer :: list
    type(tesseract_leaf), pointer :: leaves(:)
    integer :: i
    nullify (list, leaves)
    if (c_associated(address)) call c_f_pointer(address, list)
    if (.not. associated(list)) then
      allocate (paths(0))
      return
    end if
    allocate (paths(list%count))
    if (list%count > 0) call c_f_pointer(list%items, leaves, [list%count])
    do i = 1, size(paths)
      paths(i)%text = tesseract_copy(leaves(i)%path%data, leaves(i)%path%length)
    end do
  end subroutine

  subroutine call_run(self, inputs, outputs, seeds, result, error)
    class(tesseract_call), intent(in) :: self
    type(tesseract_list), intent(inout), optional :: inputs, outputs, seeds
    type(tesseract_result), intent(inout), optional :: result
    type(tesseract_error), intent(out), optional :: error
    integer, parameter :: enough = 64
    type(c_ptr), target :: in(enough), out(enough)
    type(c_ptr), allocatable, target :: many_in(:), many_out(:)
    type(tesseract_error) :: failure
    integer :: n_in, n_out
    if (present(result)) call result%free()
    if (.not. c_associated(self%handle)) then
      failure = failure_of(TESSERACT_ERROR_INVALID_ARGUMENT, 'the call is not prepared', 'run')
    else
      n_in = size(self%inputs) + size(self%seeds)
      n_out = size(self%outputs)
      if (max(n_in, n_out) <= enough) then
        call run_by(self, in(:n_in), out(:n_out), failure, inputs, outputs, seeds, result)
      else
        allocate (many_in(n_in), many_out(n_out))
        call run_by(self, many_in, many_out, failure, inputs, outputs, seeds, result)
      end if
    end if
    call report(failure, error)
  end subroutine

  ! Runs with `in` and `out` as memory for the pointers to tensors.
  subroutine run_by(self, in, out, failure, inputs, outputs, seeds, result)
    class(tesseract_call), intent(in) :: self
    type(c_ptr), intent(inout), target, contiguous :: in(:), out(:)
    type(tesseract_error), intent(inout) :: failure
    type(tesseract_list), intent(inout), optional :: inputs, outputs, seeds
    type(tesseract_result), intent(inout), optional :: result
    type(c_ptr), target :: c_result
    type(c_ptr) :: c_error, c_result_address
    integer(c_int32_t) :: status
    integer :: n
    n = size(self%inputs)
    out = c_null_ptr
    call gather(self%inputs, in(:n), failure, inputs)
    call gather(self%seeds, in(n + 1:), failure, seeds)
    if (present(outputs)) call gather(self%outputs, out, failure, outputs)
    if (failure%status /= TESSERACT_OK) return
    c_result = c_null_ptr
    c_error = c_null_ptr
    c_result_address = c_null_ptr
    if (present(result)) c_result_address = c_loc(c_result)
    status = tesseract_call_run(self%handle, c_loc(in), c_loc(out), c_null_ptr, c_result_address, &
      c_error)
    if (status /= TESSERACT_OK) then
      failure = taken(status, c_error)
    else if (present(result)) then
      result%handle = c_result
    end if
  end subroutine

  ! The tensors of a list, whose paths must be `paths`.
  subroutine gather(paths, tensors, failure, list)
    type(path_text), intent(in) :: paths(:)
    type(c_ptr), intent(inout) :: tensors(:)
    type(tesseract_error), intent(inout) :: failure
    type(tesseract_list), intent(inout), target, optional :: list
    integer :: i, n
    n = 0
    if (present(list)) n = list%count
    if (n /= size(paths)) then
      failure = failure_of(TESSERACT_ERROR_INVALID_ARGUMENT, 'a list of ' &
        // text_of(int(n, int64)) // ' entries is given where ' &
        // text_of(size(paths, kind=int64)) // ' were prepared', 'run')
      return
    end if
    do i = 1, n
      if (list%entries(i)%path /= paths(i)%text) then
        failure = failure_of(TESSERACT_ERROR_INVALID_ARGUMENT, 'stands where ' &
          // paths(i)%text // ' was prepared', list%entries(i)%path)
      else if (allocated(list%entries(i)%problem)) then
        failure = failure_of(TESSERACT_ERROR_INVALID_ARGUMENT, list%entries(i)%problem, &
          paths(i)%text)
      else
        tensors(i) = tensor_of(list%entries(i))
      end if
      if (failure%status /= TESSERACT_OK) return
    end do
  end subroutine

  subroutine call_free(self)
    class(tesseract_call), intent(inout) :: self
    call tesseract_call_free(self%handle)
    self%handle = c_null_ptr
    if (allocated(self%inputs)) deallocate (self%inputs, self%seeds, self%outputs)
  end subroutine
end module
