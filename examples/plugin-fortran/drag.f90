! A component in Fortran: the force of quadratic drag, -c |v| v, with its derivatives.
module drag
  use tesseract_plugin
  implicit none
  private
  public :: tesseract_plugin_v1

  ! Positions in the frame are those of these lists, from 1: inputs v and c, output force.
  character(len=*), parameter :: json = &
    '{"name": "drag", "threads": "concurrent", "inputs": [' // &
    '{"path": "v", "dtype": "float64", "shape": ["n"], "differentiable": true, "units": "m/s"},' // &
    '{"path": "c", "dtype": "float64", "shape": [], "differentiable": true, "default": 0.5}],' // &
    '"outputs": [' // &
    '{"path": "force", "dtype": "float64", "shape": ["n"], "differentiable": true, "units": "N"}]}'
  character(len=len(json)), target, save :: description = json
  type(tesseract_plugin_table), target, save :: plugin

contains

  integer(c_int32_t) function tesseract_plugin_v1(host, table) result(status) bind(c)
    type(c_ptr), value :: host
    type(c_ptr), intent(out) :: table
    plugin%describe = c_funloc(describe)
    plugin%apply = c_funloc(apply)
    plugin%jvp = c_funloc(jvp)
    plugin%vjp = c_funloc(vjp)
    table = c_loc(plugin)
    status = TESSERACT_OK
  end function

  integer(c_int32_t) function describe(instance, text, length, frame) result(status) bind(c)
    type(c_ptr), value :: instance
    type(c_ptr), intent(inout) :: text
    integer(c_int64_t), intent(inout) :: length
    type(tesseract_frame), intent(in) :: frame
    text = c_loc(description)
    length = len(description)
    status = TESSERACT_OK
  end function

  integer(c_int32_t) function apply(instance, plan, frame) result(status) bind(c)
    type(c_ptr), value :: instance, plan
    type(tesseract_frame), intent(in) :: frame
    real(real64), pointer :: v(:), c, force(:)
    nullify (v, c, force)
    status = TESSERACT_OK
    call tesseract_input(frame, 1, v, status)
    call tesseract_input(frame, 2, c, status)
    call tesseract_output(frame, 1, force, status)
    if (status /= TESSERACT_OK) return
    if (c < 0) then
      status = tesseract_fail(frame, TESSERACT_ERROR_OUT_OF_DOMAIN, 'c', &
        'the drag factor is negative')
    else if (associated(force)) then
      force = -c * abs(v) * v
    end if
  end function

  ! Seeds are tangents by input; one that is not associated is zero.
  integer(c_int32_t) function jvp(instance, plan, frame) result(status) bind(c)
    type(c_ptr), value :: instance, plan
    type(tesseract_frame), intent(in) :: frame
    real(real64), pointer :: v(:), c, dv(:), dc, tangent(:)
    nullify (v, c, dv, dc, tangent)
    status = TESSERACT_OK
    call tesseract_input(frame, 1, v, status)
    call tesseract_input(frame, 2, c, status)
    call tesseract_seed(frame, 1, dv, status)
    call tesseract_seed(frame, 2, dc, status)
    call tesseract_output(frame, 1, tangent, status)
    if (status /= TESSERACT_OK) return
    if (.not. associated(tangent)) return
    tangent = 0
    if (associated(dv)) tangent = tangent - 2 * c * abs(v) * dv
    if (associated(dc)) tangent = tangent - abs(v) * v * dc
  end function

  ! Seeds are cotangents by output; outputs are gradients by input, not associated where not wanted.
  integer(c_int32_t) function vjp(instance, plan, frame) result(status) bind(c)
    type(c_ptr), value :: instance, plan
    type(tesseract_frame), intent(in) :: frame
    real(real64), pointer :: v(:), c, seed(:), dv(:), dc
    nullify (v, c, seed, dv, dc)
    status = TESSERACT_OK
    call tesseract_input(frame, 1, v, status)
    call tesseract_input(frame, 2, c, status)
    call tesseract_seed(frame, 1, seed, status)
    call tesseract_output(frame, 1, dv, status)
    call tesseract_output(frame, 2, dc, status)
    if (status /= TESSERACT_OK) return
    if (associated(dv)) dv = 0
    if (associated(dc)) dc = 0
    if (.not. associated(seed)) return
    if (associated(dv)) dv = -2 * c * abs(v) * seed
    if (associated(dc)) dc = -sum(abs(v) * v * seed)
  end function
end module
