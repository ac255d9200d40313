! The heat solver as a component: checks what it is given, and hands arrays to the solver.
!
! Fields are [y, x] row-major to the host, (x, y) to Fortran: the same memory.
module heat_plugin
  use tesseract_host_c
  use heat_solver
  implicit none
  private
  public :: tesseract_plugin_v1

  ! Positions of the leaves below.
  integer, parameter :: CONDUCTIVITY = 1, SOURCE = 2, SENSORS = 3, TIMES = 4, DURATION = 5, &
    STEPS = 6, READINGS = 1, TEMPERATURE = 2

  character(len=*, kind=c_char), parameter :: json = '{"name": "heat", &
    &"description": "Heat conduction on the unit square, cold at its edge and at the start.", &
    &"threads": "concurrent", "inputs": [&
    &{"path": "conductivity", "dtype": "float64", "shape": ["ny", "nx"], "differentiable": true}, &
    &{"path": "source", "dtype": "float64", "shape": ["ny", "nx"], "differentiable": true}, &
    &{"path": "sensors", "dtype": "float64", "shape": ["sensors", 2], &
    &"description": "x, y of each in the unit square"}, &
    &{"path": "times", "dtype": "float64", "shape": ["times"], &
    &"description": "when the sensors are read, from 0 to the duration"}, &
    &{"path": "duration", "dtype": "float64", "shape": []}, &
    &{"path": "steps", "dtype": "int64", "shape": []}], "outputs": [&
    &{"path": "readings", "dtype": "float64", "shape": ["times", "sensors"], &
    &"differentiable": true}, &
    &{"path": "temperature", "dtype": "float64", "shape": ["ny", "nx"], "differentiable": true, &
    &"description": "at the end"}]}'
  character(len=len(json), kind=c_char), target, save :: description = json
  type(tesseract_plugin_table), target, save :: plugin

contains

  integer(c_int32_t) function tesseract_plugin_v1(host, table) bind(c)
    type(c_ptr), value :: host
    type(c_ptr), intent(out) :: table
    plugin%describe = c_funloc(describe)
    plugin%apply = c_funloc(apply)
    plugin%vjp = c_funloc(vjp)
    table = c_loc(plugin)
    tesseract_plugin_v1 = TESSERACT_OK
  end function

  integer(c_int32_t) function describe(instance, text, length, frame) bind(c)
    type(c_ptr), value :: instance
    type(c_ptr), intent(out) :: text
    integer(c_int64_t), intent(out) :: length
    type(tesseract_frame), intent(in) :: frame
    text = c_loc(description)
    length = len(description)
    describe = TESSERACT_OK
  end function

  integer(c_int32_t) function apply(instance, plan, frame) bind(c) result(status)
    type(c_ptr), value :: instance, plan
    type(tesseract_frame), intent(in) :: frame
    type(heat_problem) :: problem
    real(dp), pointer, contiguous :: read(:, :), final(:, :)
    status = get_problem(frame, problem)
    if (status /= TESSERACT_OK) return
    call output_or_scratch(frame, READINGS, [size(problem%sensors, 2), size(problem%times)], read)
    call output_or_scratch(frame, TEMPERATURE, shape(problem%conductivity), final)
    call heat_simulate(problem, read, final)
  end function
end module
