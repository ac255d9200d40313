! Opens a component that computes forces, asks for a gradient, and calls it in a time loop.
program embed
  use tesseract_host
  implicit none
  type(tesseract_component) :: drag
  type(tesseract_list) :: inputs, seeds
  type(tesseract_result) :: result
  type(tesseract_error) :: error
  real(real64), target :: v(3) = [1, 2, 3], ones(3) = 1, force(3)
  real(real64) :: by_c
  character(len=1024) :: source

  if (command_argument_count() /= 1) stop 'usage: embed COMPONENT'
  call get_command_argument(1, source)
  call drag%open(trim(source))

  call inputs%set('v', v)
  call inputs%set('c', 0.5_real64)
  call drag%apply(inputs, result)
  call result%get('force', force)
  call show('force', force)

  call seeds%set('force', ones)
  call drag%vjp(inputs, seeds, result)
  call result%get('v', force)
  call result%get('c', by_c)
  call show('d sum(force) / dv', force)
  call show('d sum(force) / dc', [by_c])

  call slow_down
  call show('velocities after 1 s', v)

  ! With `error` a failure is a value; without it, it stops the program.
  call inputs%set('c', -1.0_real64)
  call drag%apply(inputs, result, error=error)
  if (error%status /= TESSERACT_OK) print '(a)', 'refused: a negative drag factor'

  call result%free()
  call drag%close()

contains

  ! Prepares the call once; its runs write to `force` and neither allocate nor copy.
  subroutine slow_down
    type(tesseract_list) :: given, wanted
    type(tesseract_call) :: step
    integer :: i
    call given%set('v', v)
    call wanted%into('force', force)
    call drag%prepare_apply(step, given, of=wanted)
    do i = 1, 100
      call step%run(given, wanted)
      v = v + 0.01_real64 * force
    end do
    call step%free()
  end subroutine

  subroutine show(name, values)
    character(len=*), intent(in) :: name
    real(real64), intent(in) :: values(:)
    character(len=12) :: text(size(values))
    integer :: i
    write (text, '(f12.4)') values
    print '(*(a))', name, ':', (' ' // trim(adjustl(text(i))), i = 1, size(values))
  end subroutine
end program
