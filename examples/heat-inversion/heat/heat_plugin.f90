! The heat solver as a component: checks what it is given, and hands arrays to the solver.
!
! Fields are [y, x] row-major to the host, (x, y) to Fortran: the same memory.
module heat_plugin
  use tesseract_plugin
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

  function tesseract_plugin_v1(host, table) result(status) bind(c)
    type(c_ptr), value :: host
    type(c_ptr), intent(inout) :: table
    integer(c_int32_t) :: status
    plugin%describe = c_funloc(describe)
    plugin%apply = c_funloc(apply)
    plugin%vjp = c_funloc(vjp)
    table = c_loc(plugin)
    status = TESSERACT_OK
  end function

  function describe(instance, text, length, frame) result(status) bind(c, name='')
    type(c_ptr), value :: instance
    type(c_ptr), intent(inout) :: text
    integer(c_int64_t), intent(inout) :: length
    type(tesseract_frame), intent(in) :: frame
    integer(c_int32_t) :: status
    text = c_loc(description)
    length = len(description)
    status = TESSERACT_OK
  end function

  function apply(instance, plan, frame) result(status) bind(c, name='')
    type(c_ptr), value :: instance, plan
    type(tesseract_frame), intent(in) :: frame
    integer(c_int32_t) :: status
    type(heat_problem) :: problem
    real(dp), pointer :: read_wanted(:, :), end_wanted(:, :)
    real(dp), allocatable :: read(:, :), end(:, :)
    call get_problem(frame, problem, status)
    call tesseract_output(frame, READINGS, read_wanted, status, reversed=.true.)
    call tesseract_output(frame, TEMPERATURE, end_wanted, status, reversed=.true.)
    if (status /= TESSERACT_OK) return
    allocate (read(size(problem%sensors, 2), size(problem%times)))
    allocate (end, mold=problem%conductivity)
    call heat_simulate(problem, read, end)
    if (associated(read_wanted)) read_wanted = read
    if (associated(end_wanted)) end_wanted = end
  end function

  ! Seeds that are not given are zero; gradients that are not wanted are not written.
  function vjp(instance, plan, frame) result(status) bind(c, name='')
    type(c_ptr), value :: instance, plan
    type(tesseract_frame), intent(in) :: frame
    integer(c_int32_t) :: status
    type(heat_problem) :: problem
    real(dp), pointer :: read_given(:, :), end_given(:, :)
    real(dp), pointer :: conductivity_wanted(:, :), source_wanted(:, :)
    real(dp), allocatable :: read_seed(:, :), end_seed(:, :)
    real(dp), allocatable :: by_conductivity(:, :), by_source(:, :)
    logical :: enough_memory
    call get_problem(frame, problem, status)
    call tesseract_seed(frame, READINGS, read_given, status, reversed=.true.)
    call tesseract_seed(frame, TEMPERATURE, end_given, status, reversed=.true.)
    call tesseract_output(frame, CONDUCTIVITY, conductivity_wanted, status, reversed=.true.)
    call tesseract_output(frame, SOURCE, source_wanted, status, reversed=.true.)
    if (status /= TESSERACT_OK) return
    allocate (read_seed(size(problem%sensors, 2), size(problem%times)))
    allocate (end_seed, by_conductivity, by_source, mold=problem%conductivity)
    read_seed = 0
    if (associated(read_given)) read_seed = read_given
    end_seed = 0
    if (associated(end_given)) end_seed = end_given
    call heat_adjoint(problem, read_seed, end_seed, by_conductivity, by_source, enough_memory)
    if (.not. enough_memory) then
      status = tesseract_fail(frame, TESSERACT_ERROR_OUT_OF_MEMORY, 'steps', &
        'not enough memory for the adjoint of so many')
      return
    end if
    if (associated(conductivity_wanted)) conductivity_wanted = by_conductivity
    if (associated(source_wanted)) source_wanted = by_source
  end function

  ! The problem that the inputs pose, or why the solver can't take it.  Where another conductivity
  ! may work the status is TESSERACT_ERROR_OUT_OF_DOMAIN, so that an optimiser can go on.
  subroutine get_problem(frame, problem, status)
    type(tesseract_frame), intent(in) :: frame
    type(heat_problem), intent(out) :: problem
    integer(c_int32_t), intent(out) :: status
    integer, parameter :: most_steps = 100000
    integer(c_int64_t), pointer :: count
    real(dp), pointer :: end
    nullify (count, end)
    status = TESSERACT_OK
    call tesseract_input(frame, CONDUCTIVITY, problem%conductivity, status, reversed=.true.)
    call tesseract_input(frame, SOURCE, problem%source, status, reversed=.true.)
    call tesseract_input(frame, SENSORS, problem%sensors, status, reversed=.true.)
    call tesseract_input(frame, TIMES, problem%times, status)
    call tesseract_input(frame, DURATION, end, status)
    call tesseract_input(frame, STEPS, count, status)
    if (status /= TESSERACT_OK) return
    if (any(shape(problem%conductivity) < 2)) then
      call refuse('conductivity', 'the plate needs at least 2 x 2 cells')
    else if (.not. (end > 0 .and. end <= huge(end))) then
      call refuse('duration', 'must be positive')
    else if (count < 1 .or. count > most_steps) then
      call refuse('steps', 'must be from 1 to 100000')
    else if (.not. all(problem%sensors >= 0 .and. problem%sensors <= 1)) then
      call refuse('sensors', 'a sensor is outside of the unit square')
    else if (.not. all(problem%times >= 0 .and. problem%times <= end)) then
      call refuse('times', 'a time is before 0 or after the duration')
    else if (.not. all(problem%conductivity > 0 .and. problem%conductivity <= huge(end))) then
      status = tesseract_fail(frame, TESSERACT_ERROR_OUT_OF_DOMAIN, 'conductivity', &
        'it is not positive and finite everywhere')
    else
      problem%duration = end
      problem%steps = int(count)
      if (heat_step_number(problem) > longest_heat_step) then
        status = tesseract_fail(frame, TESSERACT_ERROR_OUT_OF_DOMAIN, 'conductivity', &
          'it is too large for the length of the steps')
      end if
    end if

  contains

    subroutine refuse(path, text)
      character(len=*), intent(in) :: path, text
      status = tesseract_fail(frame, TESSERACT_ERROR_INVALID_ARGUMENT, path, text)
    end subroutine
  end subroutine
end module
