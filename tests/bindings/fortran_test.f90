! The module tesseract_host, through the library.  Arguments: the components drag, indices, kinds.
! Speaks TAP.
program fortran_test
  use tesseract_host
  implicit none
  type(tesseract_component) :: drag, indices, kinds
  integer :: n_tests = 0
  logical :: passed = .true.

  call drag%open(argument(1))
  call indices%open(argument(2))
  call kinds%open(argument(3))

  call test_texts
  call test_apply
  call test_derivatives
  call test_jacobian
  call test_errors_are_values
  call test_lists
  call test_sections
  call test_memory_order
  call test_every_rank
  call test_every_type
  call test_views
  call test_shapes_that_differ
  call test_prepared
  call test_prepared_mistakes
  call test_abstract_eval
  call test_plugin_mistakes
  call test_c_interface
  call test_statistics

  call drag%close()
  call indices%close()
  call kinds%close()
  call kinds%close()
  print '(a, i0)', '1..', n_tests
  if (.not. passed) error stop 1

contains

  function argument(i) result(text)
    integer, intent(in) :: i
    character(len=:), allocatable :: text
    integer :: length
    call get_command_argument(i, length=length)
    allocate (character(len=length) :: text)
    call get_command_argument(i, text)
  end function

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    n_tests = n_tests + 1
    passed = passed .and. condition
    print '(a, i0, 2a)', trim(merge('ok    ', 'not ok', condition)) // ' ', n_tests, ' - ', what
  end subroutine

  subroutine test_texts
    type(tesseract_component) :: closed
    call check(drag%name() == 'drag', 'name')
    call check(index(drag%description(), '"force"') > 0, 'description')
    call check(index(drag%openapi(), '"openapi"') > 0, 'openapi')
    call check(closed%name() == '', 'a component that is not open has no texts')
  end subroutine

  subroutine test_apply
    type(tesseract_list) :: inputs, outputs
    type(tesseract_result) :: result
    real(real64), target :: v(3) = [1, -2, 3], force(3)
    real(real64), parameter :: expected(3) = [-0.5d0, 2d0, -4.5d0]
    call inputs%set('v', v)
    call drag%apply(inputs, result)
    call result%get('force', force)
    call check(all(force == expected), 'apply with a default')
    call check(result%count() == 1 .and. result%path(1) == 'force' .and. result%path(2) == '' &
      .and. result%wrt(1) == '', 'the result names its tensors')
    call check(all(result%dims('force') == [3]) .and. all(result%dims('x') == [-1]), 'dims')
    call check(result%json() == '{}', 'no outputs but arrays')

    call inputs%set('c', 1d0)
    force = 0
    call outputs%into('force', force)
    call drag%apply(inputs, of=outputs)
    call check(all(force == 2 * expected), 'apply into an array, without a result')

    call inputs%clear()
    call inputs%json('{"v": [1, -2, 3], "c": 0.5}')
    call drag%apply(inputs, result)
    call result%get('force', force)
    call check(all(force == expected), 'arrays in the JSON')
    call result%free()
    call result%free()
    call check(result%count() == 0 .and. result%json() == '', 'a freed result is empty')
  end subroutine

  subroutine test_derivatives
    type(tesseract_list) :: inputs, seeds, wanted
    type(tesseract_result) :: result
    real(real64), target :: v(3) = [1, -2, 3], ones(3) = 1, gradient(3), by_c
    call inputs%set('v', v)
    call inputs%set('c', 0.5d0)
    call seeds%set('v', ones)
    call drag%jvp(inputs, seeds, result)
    call result%get('force', gradient)
    call check(all(gradient == [-1, -2, -3]), 'jvp')

    call seeds%clear()
    call seeds%set('force', ones)
    call wanted%into('c', by_c)
    call wanted%want('v')
    by_c = 0
    gradient = 0
    call drag%vjp(inputs, seeds, result, wrt=wanted)
    call result%get('v', gradient)
    call check(by_c == -6 .and. all(gradient == [-1, -2, -3]), 'vjp into a scalar and a result')
    call result%free()
  end subroutine

  subroutine test_jacobian
    type(tesseract_list) :: inputs
    type(tesseract_result) :: result
    real(real64), target :: v(2) = [1, -2]
    real(real64) :: by_v(2, 2), by_c(2)
    call inputs%set('v', v)
    call inputs%set('c', 0.5d0)
    call drag%jacobian(inputs, result)
    call result%get('force', by_v, wrt='v')
    call result%get('force', by_c, wrt='c')
    call check(all(by_v == reshape([-1, 0, 0, -2], [2, 2])) .and. all(by_c == [-1, 4]), 'jacobian')
    call check(result%count() == 2 .and. result%wrt(2) == 'c', 'it names its inputs')
    call result%free()
  end subroutine

  subroutine test_errors_are_values
    type(tesseract_component) :: nothing
    type(tesseract_list) :: inputs
    type(tesseract_result) :: result
    type(tesseract_error) :: error
    real(real64), target :: v(2) = [1, 2], wrong(2, 1) = 0
    call nothing%open('/nowhere/libnothing.so', error=error)
    call check(error%status == TESSERACT_ERROR_NOT_FOUND .and. &
      index(error%message, '/nowhere/libnothing.so') > 0, 'opening nothing')
    call inputs%set('v', v)
    call nothing%apply(inputs, result, error=error)
    call check(error%status /= TESSERACT_OK, 'calling what is not open')
    call kinds%open(argument(3), options='{"k": 1}', error=error)
    call check(error%status == TESSERACT_ERROR_INVALID_ARGUMENT .and. &
      index(error%message, 'no options') > 0, 'options that a Fortran component refuses')
    call kinds%open(argument(3))

    call inputs%set('c', -1d0)
    call drag%apply(inputs, result, error=error)
    call check(error%status == TESSERACT_ERROR_OUT_OF_DOMAIN .and. error%path == 'c' .and. &
      error%component == 'drag' .and. error%endpoint == 'apply' .and. error%traceback == '' &
      .and. len(error%message) > 0, 'out of domain names path, component and endpoint')
    call check(result%count() == 0, 'after a failure the result is empty')
    call inputs%set('c', 1d0)
    call inputs%set('v', wrong)
    call drag%apply(inputs, result, error=error)
    call check(error%status == TESSERACT_ERROR_SCHEMA .and. error%path == 'v', 'a wrong rank')
    call inputs%set('v', v)
    call drag%apply(inputs, result, error=error)
    call check(error%status == TESSERACT_OK, 'error is reset by a call that succeeds')
    call result%free()
  end subroutine

  ! A list keeps the order and takes any number of paths, the last array of each.
  subroutine test_lists
    type(tesseract_list) :: inputs
    type(tesseract_result) :: result
    type(tesseract_error) :: error
    real(real64), target :: v(3) = [1, 2, 3], other(1) = 2, force(1)
    character(len=3) :: name
    integer :: i
    call inputs%set('v', v)
    do i = 1, 40
      write (name, '(a, i2.2)') 'x', i
      call inputs%set(name, v)
    end do
    call drag%apply(inputs, result, error=error)
    call check(error%status == TESSERACT_ERROR_SCHEMA .and. error%path(1:1) == 'x', &
      'unknown paths, in a list that grew')
    call inputs%clear()
    call inputs%set('v', v)
    call inputs%set('v', other)
    call drag%apply(inputs, result)
    call result%get('force', force)
    call check(force(1) == -2, 'the last array of a path')
    call result%free()
  end subroutine

  subroutine test_sections
    type(tesseract_list) :: inputs
    type(tesseract_result) :: result
    type(tesseract_error) :: error
    real(real64), target :: grid(4, 3) = 0, force(4)
    grid(:, 2) = [1, 2, 3, 4]
    call inputs%set('v', grid(:, 2))
    call drag%apply(inputs, result)
    call result%get('force', force)
    call check(all(force == -0.5d0 * grid(:, 2)**2), 'a contiguous section')
    call result%get('force', grid(:, 3))
    call check(all(grid(:, 3) == force), 'get into a contiguous section')
    call result%get('force', grid(4, :), error=error)
    call check(error%status /= TESSERACT_OK, 'get into one that is not')
    call inputs%set('v', grid(2, :))
    call drag%apply(inputs, result, error=error)
    call check(error%status == TESSERACT_ERROR_INVALID_ARGUMENT .and. error%path == 'v' .and. &
      index(error%message, 'contiguous') > 0, 'a section that is not contiguous')
    call inputs%set('v', force)
    call drag%apply(inputs, result)
    call check(result%count() == 1, 'replacing it heals the list')
    call result%free()
  end subroutine

  ! a(i, j) is element [i-1, j-1], or with reversed [j-1, i-1].
  subroutine test_memory_order
    type(tesseract_list) :: inputs, outputs
    type(tesseract_result) :: result
    real(real64), target :: a(2, 3), b(2, 3), moment
    integer(int64), target :: linear(2, 3), turned(3, 2)
    integer(int64) :: row_major(2, 3)
    integer :: i, j
    a = reshape([(real(i, real64)**2, i = 1, 6)], [2, 3])
    row_major = reshape([((3 * i + j, i = 0, 1), j = 0, 2)], [2, 3])

    call inputs%set('x', a)
    call indices%apply(inputs, result)
    call result%get('linear', linear)
    call result%get('moment', moment)
    call result%get('y', b)
    call check(all(linear == row_major), 'get: same indices')
    call check(moment == sum(a * row_major), 'set: same indices')
    call check(all(b == a), 'there and back')
    call result%get('linear', turned, reversed=.true.)
    call check(all(turned == transpose(row_major)), 'get reversed')
    call check(all(result%dims('linear') == [2, 3]), 'dims are not reversed')

    call inputs%set('x', a, reversed=.true.)
    call indices%apply(inputs, result)
    call result%get('moment', moment)
    call check(all(result%dims('y') == [3, 2]) .and. &
      moment == sum(a * reshape([(i, i = 0, 5)], [2, 3])), 'set reversed: memory as it is')

    ! Into arrays: the host writes by the strides.
    call inputs%clear()
    call outputs%clear()
    call inputs%set('r2', a)
    b = 0
    call outputs%into('r2', b)
    call kinds%apply(inputs, of=outputs, no_copy=.true.)
    call check(all(b == 2 * a), 'column-major leaves: no copy, same indices')
    call outputs%clear()
    call inputs%clear()
    turned = reshape([(int(i, int64), i = 1, 6)], [3, 2])
    call inputs%set('i8', turned, reversed=.true.)
    linear = 0
    call outputs%into('i8', linear)
    call kinds%apply(inputs, of=outputs)
    call check(all(linear == 2 * transpose(turned)), 'into: same indices, of a row-major leaf too')
    call result%free()
  end subroutine

  subroutine test_every_rank
    type(tesseract_list) :: inputs
    type(tesseract_result) :: result
    real(real64), target :: x0, x1(2), x2(2, 3), x3(2, 3, 2), x4(1, 2, 1, 3), x5(1, 2, 1, 2, 1), &
      x6(1, 2, 1, 2, 1, 2), x7(2, 1, 2, 1, 2, 1, 2)
    real(real64) :: y0, y1(2), y2(2, 3), y3(2, 3, 2), y4(1, 2, 1, 3), y5(1, 2, 1, 2, 1), &
      y6(1, 2, 1, 2, 1, 2), y7(2, 1, 2, 1, 2, 1, 2)
    call random_number(x0)
    call random_number(x1)
    call random_number(x2)
    call random_number(x3)
    call random_number(x4)
    call random_number(x5)
    call random_number(x6)
    call random_number(x7)
    call inputs%set('r0', x0)
    call inputs%set('r1', x1)
    call inputs%set('r2', x2)
    call inputs%set('r3', x3)
    call inputs%set('r4', x4)
    call inputs%set('r5', x5)
    call inputs%set('r6', x6)
    call inputs%set('r7', x7)
    call apply_given(inputs, result)
    call result%get('r0', y0)
    call result%get('r1', y1)
    call result%get('r2', y2)
    call result%get('r3', y3)
    call result%get('r4', y4)
    call result%get('r5', y5)
    call result%get('r6', y6)
    call result%get('r7', y7)
    call check(y0 == 2 * x0, 'rank 0')
    call check(all(y1 == 2 * x1), 'rank 1')
    call check(all(y2 == 2 * x2), 'rank 2')
    call check(all(y3 == 2 * x3), 'rank 3')
    call check(all(y4 == 2 * x4), 'rank 4')
    call check(all(y5 == 2 * x5), 'rank 5')
    call check(all(y6 == 2 * x6), 'rank 6')
    call check(all(y7 == 2 * x7), 'rank 7')
    call result%free()
  end subroutine

  ! kinds with a list of outputs like that of its inputs.
  subroutine apply_given(inputs, result)
    type(tesseract_list), intent(inout) :: inputs
    type(tesseract_result), intent(inout) :: result
    type(tesseract_list) :: outputs
    character(len=4), parameter :: names(*) = ['r0  ', 'r1  ', 'r2  ', 'r3  ', 'r4  ', 'r5  ', &
      'r6  ', 'r7  ', 'f   ', 'i8  ', 'i4  ', 'z   ', 'flag']
    integer :: i
    do i = 1, size(names)
      if (inputs%has(trim(names(i)))) call outputs%want(trim(names(i)))
    end do
    call kinds%apply(inputs, result, of=outputs)
  end subroutine

  subroutine test_every_type
    type(tesseract_list) :: inputs, outputs
    type(tesseract_result) :: result
    real(real32), target :: f(2, 3), f3(2, 3)
    integer(int64), target :: i8(2, 3), i83(2, 3)
    integer(int32), target :: i4(2, 3), i43(2, 3)
    complex(real64), target :: z(2, 3), z3(2, 3)
    logical(c_bool), target :: flag(3), flag3(3)
    real(real32) :: f2(2, 3)
    integer(int64) :: i82(2, 3)
    integer(int32) :: i42(2, 3)
    complex(real64) :: z2(2, 3)
    logical(c_bool) :: flag2(3)
    integer :: i
    i8 = reshape([(2_int64**40 + i, i = 1, 6)], [2, 3])
    i4 = reshape([(100000 * i, i = 1, 6)], [2, 3])
    f = real(i4, real32) / 7
    z = cmplx(i4, -i8, real64)
    flag = [.true._c_bool, .false._c_bool, .true._c_bool]
    call inputs%set('f', f)
    call inputs%set('i8', i8)
    call inputs%set('i4', i4)
    call inputs%set('z', z)
    call inputs%set('flag', flag)
    call apply_given(inputs, result)
    call result%get('f', f2)
    call result%get('i8', i82)
    call result%get('i4', i42)
    call result%get('z', z2)
    call result%get('flag', flag2)
    call check(all(f2 == 2 * f), 'real32')
    call check(all(i82 == 2 * i8), 'int64')
    call check(all(i42 == 2 * i4), 'int32')
    call check(all(z2 == 2 * z), 'complex128')
    call check(logical(all(flag2 .neqv. flag)), 'bool')

    call outputs%into('f', f3)
    call outputs%into('i8', i83)
    call outputs%into('i4', i43)
    call outputs%into('z', z3)
    call outputs%into('flag', flag3)
    f3 = 0
    i83 = 0
    i43 = 0
    z3 = 0
    flag3 = flag
    call kinds%apply(inputs, of=outputs)
    call check(all(f3 == f2) .and. all(i83 == i82) .and. all(i43 == i42) .and. all(z3 == z2) &
      .and. logical(all(flag3 .eqv. flag2)), 'into of every type')
    call result%free()
  end subroutine

  subroutine test_views
    type(tesseract_list) :: inputs
    type(tesseract_result) :: result
    type(tesseract_error) :: error
    real(real64), target :: a(2, 3), x0 = 4
    real(real32), target :: f(2, 3) = 3
    integer(int32), target :: i4(2, 3) = 5
    complex(real64), target :: z(2, 3) = 7
    logical(c_bool), target :: flag(1) = .true._c_bool
    real(real64), pointer :: p(:, :), p0, p1(:)
    real(real32), pointer :: pf(:, :)
    integer(int64), pointer :: linear(:, :)
    integer(int32), pointer :: pi4(:, :)
    complex(real64), pointer :: pz(:, :)
    logical(c_bool), pointer :: pflag(:)
    integer :: i
    nullify (p, p0, p1, pf, linear, pi4, pz, pflag)
    a = reshape([(real(i, real64), i = 1, 6)], [2, 3])
    call inputs%set('x', a)
    call indices%apply(inputs, result)
    call result%view('y', p, error=error)
    call check(error%status == TESSERACT_ERROR_INVALID_ARGUMENT .and. .not. associated(p) .and. &
      index(error%message, 'reversed') > 0, 'a row-major tensor is viewed only reversed')
    call result%view('y', p, reversed=.true.)
    call check(all(shape(p) == [3, 2]) .and. all(p == transpose(a)), 'view reversed')
    call result%view('linear', linear, reversed=.true.)
    call check(linear(2, 1) == 1 .and. linear(1, 2) == 3, 'view of integers')
    call result%view('y', p1, error=error)
    call check(error%status == TESSERACT_ERROR_SCHEMA .and. .not. associated(p1), 'another rank')
    call result%view('y', linear, error=error)
    call check(error%status == TESSERACT_ERROR_SCHEMA .and. &
      index(error%message, 'float64') > 0 .and. index(error%message, 'int64') > 0, 'another dtype')
    call result%view('nothing', p0, error=error)
    call check(error%status == TESSERACT_ERROR_NOT_FOUND .and. error%path == 'nothing', 'no tensor')

    call inputs%clear()
    call inputs%set('r0', x0)
    call inputs%set('r2', a)
    call inputs%set('f', f)
    call inputs%set('i4', i4)
    call inputs%set('z', z)
    call inputs%set('flag', flag)
    call apply_given(inputs, result)
    call result%view('r0', p0)
    call result%view('f', pf, reversed=.true.)
    call result%view('i4', pi4, reversed=.true.)
    call result%view('z', pz, reversed=.true.)
    call result%view('flag', pflag)
    call check(p0 == 8 .and. all(pf == 6) .and. all(pi4 == 10) .and. all(pz == 14) .and. &
      .not. pflag(1), 'views of every type')
    call result%free()
  end subroutine

  subroutine test_shapes_that_differ
    type(tesseract_list) :: inputs
    type(tesseract_result) :: result
    type(tesseract_error) :: error
    real(real64), target :: v(3) = 1, empty(0)
    real(real64) :: short(2), also_empty(0)
    real(real64), pointer :: p(:)
    nullify (p)
    call inputs%set('v', v)
    call drag%apply(inputs, result)
    call result%get('force', short, error=error)
    call check(error%status == TESSERACT_ERROR_SCHEMA .and. index(error%message, '(2)') > 0 .and. &
      index(error%message, '(3)') > 0, 'an array of another shape')
    call inputs%set('v', empty)
    call drag%apply(inputs, result)
    call result%get('force', also_empty)
    call result%view('force', p)
    call check(all(result%dims('force') == [0]) .and. associated(p) .and. size(p) == 0, &
      'an array without elements')
    call result%free()
  end subroutine

  subroutine test_prepared
    type(tesseract_list) :: inputs, outputs, seeds, gradients, none
    type(tesseract_call) :: call, gradient, tangent, jacobian
    type(tesseract_result) :: result
    real(real64), target :: v(2) = [1, 2], force(2), ones(2) = 1, by_v(2)
    real(real64) :: y(2), square(2, 2)
    call inputs%set('v', v)
    call outputs%into('force', force)
    call drag%prepare_apply(call, inputs, of=outputs)
    call call%run(inputs, outputs)
    call check(all(force == [-0.5d0, -2d0]), 'run')
    v = [2, 0]
    call call%run(inputs, outputs)
    call check(all(force == [-2, 0]), 'run on new values')
    v = [1, 2]
    call call%run(inputs, result=result)
    call result%get('force', y)
    call check(all(y == [-0.5d0, -2d0]), 'run with a result')

    call seeds%set('force', ones)
    call gradients%into('v', by_v)
    call drag%prepare_vjp(gradient, inputs, seeds, wrt=gradients)
    call gradient%run(inputs, gradients, seeds)
    call check(all(by_v == [-1, -2]), 'prepared vjp')
    call seeds%clear()
    call seeds%set('v', ones)
    call drag%prepare_jvp(tangent, inputs, seeds)
    force = 0
    call tangent%run(inputs, outputs, seeds)
    call check(all(force == [-1, -2]), 'prepared jvp')
    call drag%prepare_jacobian(jacobian, inputs)
    call jacobian%run(inputs, result=result)
    call result%get('force', square, wrt='v')
    call check(all(square == reshape([-1, 0, 0, -2], [2, 2])), 'prepared jacobian')

    call none%json('{"v": [1, 2]}')
    call drag%prepare_apply(call, none)
    call call%run(outputs=outputs)
    call check(all(force == [-0.5d0, -2d0]), 'run of a call without arrays in')
    call call%free()
    call call%free()
    call gradient%free()
    call tangent%free()
    call jacobian%free()
    call result%free()
  end subroutine

  subroutine test_prepared_mistakes
    type(tesseract_list) :: inputs, outputs, other, swapped
    type(tesseract_call) :: call, unprepared
    type(tesseract_error) :: error
    real(real64), target :: v(2) = [1, 2], c = 1, force(2), section(4) = 0
    call inputs%set('v', v)
    call inputs%set('c', c)
    call outputs%into('force', force)
    call drag%prepare_apply(call, inputs, of=outputs)
    call unprepared%run(inputs, outputs, error=error)
    call check(error%status == TESSERACT_ERROR_INVALID_ARGUMENT, 'run of what is not prepared')
    call other%set('v', v)
    call call%run(other, outputs, error=error)
    call check(error%status == TESSERACT_ERROR_INVALID_ARGUMENT, 'a list that is too short')
    call swapped%set('c', c)
    call swapped%set('v', v)
    call call%run(swapped, outputs, error=error)
    call check(error%status == TESSERACT_ERROR_INVALID_ARGUMENT .and. error%path == 'c', &
      'a list in another order')
    call inputs%set('v', section(::2))
    call call%run(inputs, outputs, error=error)
    call check(error%status == TESSERACT_ERROR_INVALID_ARGUMENT .and. error%path == 'v', &
      'a section that is not contiguous')
    call inputs%set('v', section)
    call call%run(inputs, outputs, error=error)
    call check(error%status == TESSERACT_ERROR_SCHEMA, 'a length that does not fit')
    call inputs%set('v', v)
    call call%run(inputs, error=error)
    call check(error%status /= TESSERACT_OK, 'neither an array nor a result for an output')
    call call%run(inputs, outputs, error=error)
    call check(error%status == TESSERACT_OK, 'usable afterwards')
    call call%free()
  end subroutine

  subroutine test_abstract_eval
    type(tesseract_list) :: inputs
    type(tesseract_result) :: result
    real(real64), target :: v(5) = 0
    call inputs%set('v', v)
    call drag%abstract_eval(inputs, result)
    call check(all(result%dims('force') == [5]), 'abstract evaluation gives shapes')
    call result%free()
  end subroutine

  ! What a component written with tesseract_plugin gets wrong, and what its helpers carry.
  subroutine test_plugin_mistakes
    type(tesseract_list) :: inputs, outputs
    type(tesseract_result) :: result
    type(tesseract_error) :: error
    real(real64), target :: x0 = 1, x1(2) = 1
    integer(int32) :: grown(2, 3)
    call inputs%set('r0', x0)
    call inputs%set('r1', x1)
    call outputs%want('r1')
    call behave('dtype', 'dtype')
    call behave('rank', 'rank')
    call behave('order', 'memory order')
    call behave('position', 'output 99')
    call inputs%json('{"behaviour": "domain"}')
    call kinds%apply(inputs, result, of=outputs, error=error)
    call check(error%status == TESSERACT_ERROR_OUT_OF_DOMAIN .and. error%path == 'r1' .and. &
      index(error%message, 'not there') > 0, 'tesseract_fail')
    call inputs%json('{"behaviour": "grow"}')
    call outputs%want('grown')
    call kinds%apply(inputs, result, of=outputs)
    call result%get('grown', grown)
    call check(all(grown(1, :) == [0, 1, 2]) .and. all(grown(2, :) == [10, 11, 12]), &
      'a shape that is the component''s to say')
    call check(index(result%json(), 'grow') > 0, 'JSON in and out')
    call result%free()
  end subroutine

  ! The C interface, where tesseract_host has no form: a call that is cancelled.
  subroutine test_c_interface
    use tesseract_host_c
    type(c_ptr) :: component, cancel, result, error
    type(tesseract_call_options), target :: options
    type(tesseract_leaves), target :: inputs
    character(len=21), target :: json = '{"behaviour": "wait"}'
    character(len=:), allocatable :: message
    integer(c_int64_t) :: length
    integer(c_int32_t) :: status
    type(c_ptr) :: text
    component = c_null_ptr
    cancel = c_null_ptr
    result = c_null_ptr
    error = c_null_ptr
    status = tesseract_open(argument(3) // c_null_char, TESSERACT_NTS, c_null_ptr, component, error)
    call check(status == TESSERACT_OK .and. c_associated(component), 'tesseract_open')
    status = tesseract_cancel_create(cancel)
    call tesseract_cancel_request(cancel)
    options%cancel = cancel
    inputs%json = tesseract_text(json)
    status = tesseract_apply(component, c_loc(inputs), c_null_ptr, c_loc(options), result, error)
    call check(status == TESSERACT_ERROR_CANCELLED .and. .not. c_associated(result) .and. &
      tesseract_error_status(error) == status, 'a Fortran component that is cancelled')
    text = tesseract_error_message(error, length)
    message = tesseract_copy(text, length)
    call check(len(message) > 0 .and. len(message) == length, 'tesseract_copy')
    call tesseract_error_free(error)
    call tesseract_cancel_free(cancel)
    call tesseract_close(component)
  end subroutine

  subroutine behave(behaviour, text)
    character(len=*), intent(in) :: behaviour, text
    type(tesseract_list) :: inputs, outputs
    type(tesseract_result) :: result
    type(tesseract_error) :: error
    real(real64), target :: x0 = 1, x1(2) = 1
    real(real32), target :: f(2, 2) = 1
    call inputs%set('r0', x0)
    call inputs%set('r1', x1)
    call inputs%set('f', f)
    call outputs%want('r1')
    call inputs%json('{"behaviour": "' // behaviour // '"}')
    call kinds%apply(inputs, result, of=outputs, error=error)
    call check(error%status == TESSERACT_ERROR_COMPONENT .and. index(error%message, text) > 0, &
      'a component that asks for the wrong ' // behaviour)
  end subroutine

  subroutine test_statistics
    type(tesseract_component) :: component
    type(tesseract_statistics) :: statistics
    type(tesseract_list) :: inputs
    real(real64), target :: a(2, 3) = 1
    call component%open(argument(2))
    call inputs%set('x', a)
    call component%apply(inputs)
    statistics = component%statistics()
    call check(statistics%calls == 1 .and. statistics%layout_copies == 1 .and. &
      statistics%layout_bytes == 48, 'the copy of a column-major array is counted')
    call inputs%set('x', a, reversed=.true.)
    call component%apply(inputs)
    statistics = component%statistics()
    call check(statistics%calls == 2 .and. statistics%layout_copies == 1, &
      'a reversed one is not copied')
    call component%close()
  end subroutine
end program
