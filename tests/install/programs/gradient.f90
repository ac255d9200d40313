! Opens each source given and prints y and dy/dx of its component at x = (1, 2, 3), a = 2.
program gradient
  use tesseract_host
  implicit none
  type(tesseract_component) :: component
  type(tesseract_list) :: inputs, cotangents, wrt
  type(tesseract_result) :: result
  real(real64), target :: x(3) = [1, 2, 3], seed(3) = 1, y(3), dx(3)
  character(len=4096) :: source
  integer :: i

  call inputs%set('x', x)
  call inputs%set('a', 2.0_real64)
  call cotangents%set('y', seed)
  call wrt%set('x', dx)
  do i = 1, command_argument_count()
    call get_command_argument(i, source)
    call component%open(trim(source))
    call component%apply(inputs, result)
    call result%get('y', y)
    print '(a, 3(1x, f0.0))', 'y', y
    call component%vjp(inputs, cotangents, wrt=wrt)
    print '(a, 3(1x, f0.0))', 'dy/dx', dx
    call result%free()
    call component%close()
  end do
end program
