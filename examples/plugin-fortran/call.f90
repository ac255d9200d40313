! Calls the component given: what a test of it does.
program test_drag
  use tesseract_host
  implicit none
  type(tesseract_component) :: drag
  type(tesseract_list) :: inputs, tangents
  type(tesseract_result) :: result
  type(tesseract_error) :: error
  real(real64), target :: v(2) = [-1, 2], dv(2) = [1.0, 0.5]
  real(real64) :: force(2)
  character(len=1024) :: source

  call get_command_argument(1, source)
  call drag%open(trim(source))
  call inputs%set('v', v)
  call drag%apply(inputs, result)
  call result%get('force', force)
  print '(a, 2f6.2)', 'force:', force

  call tangents%set('v', dv)
  call drag%jvp(inputs, tangents, result)
  call result%get('force', force)
  print '(a, 2f6.2)', 'its tangent:', force

  call inputs%set('c', -1.0_real64)
  call drag%apply(inputs, result, error=error)
  if (error%status == TESSERACT_ERROR_OUT_OF_DOMAIN) print '(2a)', 'out of domain: ', error%path
  call result%free()
  call drag%close()
end program
