! Heat conduction on the unit square, and its adjoint.
!
!   u_t = div(k grad u) + q,   u = 0 on the edge,   u = 0 at the start
!
! Conductivity k and heating q are given by cell, nx by ny; between two cells the harmonic mean of k
! conducts.  A step is one implicit trapezoidal sweep along each axis, in alternating order, which is
! of second order in space and time.  A sweep with operator A takes u to
!
!   w = (1 - dt/2 A)^-1 (u + dt/4 q),   u_new = 2 w - u
!
! A is symmetric, so that the transposed sweep takes the adjoint l backwards in time to
!
!   m = (1 - dt/2 A)^-1 l,   l_old = 2 m - l
!
! and adds dt/2 m to the gradient by q and dt m^T A' w to that by k.  It needs each w: the state is
! kept at the start of each of about sqrt(steps) segments, and a segment's w are computed again when
! the adjoint reaches it.
!
! No state outlives a call: any number of threads may call.
module heat_solver
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: heat_problem, heat_simulate, heat_adjoint, heat_step_number, longest_heat_step

  integer, parameter, public :: dp = real64

  ! The largest dt k / h**2: beyond it a sweep damps the shortest waves by less than 1 %, and the
  ! temperature rings instead of following the equation.
  real(dp), parameter :: longest_heat_step = 100

  ! What is computed.  Fields are indexed (x, y).
  type :: heat_problem
    real(dp), pointer :: conductivity(:, :) => null() ! k > 0
    real(dp), pointer :: source(:, :) => null()       ! q, of the same shape
    real(dp), pointer :: sensors(:, :) => null()      ! (2, sensors): x, y in [0, 1]
    real(dp), pointer :: times(:) => null()           ! of readings, in [0, duration]
    real(dp) :: duration = 0
    integer :: steps = 0
  end type

  ! The sweep along one axis, for all lines at once; the axis is the second index.
  type :: heat_sweep
    real(dp) :: face_scale = 0                 ! dt / (2 h**2)
    real(dp), allocatable :: face(:, :)        ! (lines, 0:cells) face_scale * k of the faces
    real(dp), allocatable :: ratio(:, :)       ! (lines, cells) face / pivot of the elimination
    real(dp), allocatable :: inverse_pivot(:, :)
  end type

  ! Bilinear interpolation to a sensor: cells (i, j) to (i + 1, j + 1).
  type :: heat_sensor
    integer :: i = 1, j = 1
    real(dp) :: weight(2, 2) = 0
  end type

  ! What stays the same from step to step, and room to work.
  type :: heat_stepper
    integer :: nx = 0, ny = 0, steps = 0
    real(dp) :: dt = 0
    type(heat_sweep) :: along_x, along_y
    type(heat_sensor), allocatable :: sensors(:)
    integer, allocatable :: interval(:)    ! a reading lies between steps interval and interval + 1,
    real(dp), allocatable :: fraction(:)   ! this far from the first
    real(dp), allocatable :: across(:, :)  ! (ny, nx) the field that is swept along x
    real(dp), allocatable :: w_x(:, :), w_y(:, :)
    real(dp), allocatable :: source_x(:, :), source_y(:, :) ! dt / 4 q
  end type

  ! What the adjoint needs of the simulation; steps are cut into segments.
  type :: heat_tape
    integer :: length = 0, segments = 0
    real(dp), allocatable :: starts(:, :, :)            ! the state before each segment
    real(dp), allocatable :: w_x(:, :, :), w_y(:, :, :) ! of one segment's steps
  end type

  ! Gradients as they grow over the steps: by the faces, and by q as each axis sees it.
  type :: heat_gradient
    real(dp), allocatable :: face_x(:, :), face_y(:, :)
    real(dp), allocatable :: source_x(:, :), source_y(:, :)
  end type

contains

  ! dt k / h**2 of the problem, to be compared with longest_heat_step.
  pure real(dp) function heat_step_number(problem)
    type(heat_problem), intent(in) :: problem
    heat_step_number = problem%duration / problem%steps * maxval(problem%conductivity) &
      * maxval(shape(problem%conductivity))**2
  end function

  ! Readings (sensors, times) and the temperature at the end.
  subroutine heat_simulate(problem, readings, temperature)
    type(heat_problem), intent(in) :: problem
    real(dp), intent(out), contiguous :: readings(:, :), temperature(:, :)
    type(heat_stepper) :: stepper
    integer :: step
    call prepare(problem, stepper)
    temperature = 0
    readings = 0
    do step = 1, stepper%steps
      call advance(stepper, step, temperature, stepper%w_x, stepper%w_y)
      call read_sensors(stepper, step, temperature, readings)
    end do
  end subroutine

  ! Gradients by conductivity and source of  sum(readings * readings_seed)
  ! + sum(temperature * temperature_seed); undefined when there is not enough memory.
  subroutine heat_adjoint(problem, readings_seed, temperature_seed, conductivity_gradient, &
      source_gradient, enough_memory)
    type(heat_problem), intent(in) :: problem
    real(dp), intent(in), contiguous :: readings_seed(:, :), temperature_seed(:, :)
    real(dp), intent(out), contiguous :: conductivity_gradient(:, :), source_gradient(:, :)
    logical, intent(out) :: enough_memory
    type(heat_stepper) :: stepper
    type(heat_gradient) :: gradient
    type(heat_tape) :: tape
    real(dp), allocatable :: state(:, :), adjoint(:, :)
    integer :: segment, first, last, step

    call prepare(problem, stepper)
    call allocate_tape(stepper, tape, enough_memory)
    if (.not. enough_memory) return
    associate (nx => stepper%nx, ny => stepper%ny)
      allocate (gradient%face_x(ny, 0:nx), gradient%face_y(nx, 0:ny), source=0.0_dp)
      allocate (gradient%source_x(ny, nx), gradient%source_y(nx, ny), source=0.0_dp)
      allocate (state(nx, ny), source=0.0_dp)
    end associate

    do segment = 1, tape%segments
      tape%starts(:, :, segment) = state
      if (segment == tape%segments) exit
      do step = (segment - 1) * tape%length + 1, segment * tape%length
        call advance(stepper, step, state, stepper%w_x, stepper%w_y)
      end do
    end do

    adjoint = temperature_seed
    do segment = tape%segments, 1, -1
      first = (segment - 1) * tape%length
      last = min(first + tape%length, stepper%steps)
      state = tape%starts(:, :, segment)
      do step = first + 1, last
        call advance(stepper, step, state, tape%w_x(:, :, step - first), &
          tape%w_y(:, :, step - first))
      end do
      do step = last, first + 1, -1
        call read_sensors_transposed(stepper, step, readings_seed, adjoint)
        call retreat(stepper, step, adjoint, tape%w_x(:, :, step - first), &
          tape%w_y(:, :, step - first), gradient)
      end do
    end do
    source_gradient = 0.5_dp * stepper%dt * (gradient%source_y + transpose(gradient%source_x))
    conductivity_gradient = gradient_by_cells(problem%conductivity, stepper, gradient)
  end subroutine

  subroutine allocate_tape(stepper, tape, enough_memory)
    type(heat_stepper), intent(in) :: stepper
    type(heat_tape), intent(out) :: tape
    logical, intent(out) :: enough_memory
    integer :: failure
    tape%length = ceiling(sqrt(real(stepper%steps, dp)))
    tape%segments = (stepper%steps + tape%length - 1) / tape%length
    associate (nx => stepper%nx, ny => stepper%ny)
      allocate (tape%starts(nx, ny, tape%segments), tape%w_x(ny, nx, tape%length), &
        tape%w_y(nx, ny, tape%length), stat=failure)
    end associate
    enough_memory = failure == 0
  end subroutine

  ! ---- Steps

  subroutine prepare(problem, stepper)
    type(heat_problem), intent(in) :: problem
    type(heat_stepper), intent(out) :: stepper
    real(dp) :: position
    integer :: i
    stepper%nx = size(problem%conductivity, 1)
    stepper%ny = size(problem%conductivity, 2)
    stepper%steps = problem%steps
    stepper%dt = problem%duration / problem%steps
    stepper%across = transpose(problem%conductivity)
    allocate (stepper%w_x, mold=stepper%across)
    allocate (stepper%w_y, mold=problem%conductivity)
    stepper%source_y = 0.25_dp * stepper%dt * problem%source
    stepper%source_x = transpose(stepper%source_y)
    stepper%along_x = new_sweep(stepper%across, stepper%dt)
    stepper%along_y = new_sweep(problem%conductivity, stepper%dt)
    allocate (stepper%sensors(size(problem%sensors, 2)))
    do i = 1, size(stepper%sensors)
      stepper%sensors(i) = new_sensor(problem%sensors(:, i), stepper%nx, stepper%ny)
    end do
    allocate (stepper%interval(size(problem%times)), stepper%fraction(size(problem%times)))
    do i = 1, size(problem%times)
      position = problem%times(i) / stepper%dt
      stepper%interval(i) = min(int(position), stepper%steps - 1)
      stepper%fraction(i) = position - stepper%interval(i)
    end do
  end subroutine

  ! One step forward; w_x and w_y become the w of its sweeps.
  subroutine advance(stepper, step, u, w_x, w_y)
    type(heat_stepper), intent(inout) :: stepper
    integer, intent(in) :: step
    real(dp), intent(inout), contiguous :: u(:, :)
    real(dp), intent(inout), contiguous :: w_x(:, :), w_y(:, :)
    if (x_first(step)) call sweep_x()
    w_y = u + stepper%source_y
    call solve(stepper%along_y, w_y)
    u = 2 * w_y - u
    if (.not. x_first(step)) call sweep_x()

  contains

    subroutine sweep_x()
      call transpose_to(u, stepper%across)
      w_x = stepper%across + stepper%source_x
      call solve(stepper%along_x, w_x)
      stepper%across = 2 * w_x - stepper%across
      call transpose_to(stepper%across, u)
    end subroutine
  end subroutine

  ! The transpose of `advance`: the adjoint one step back, and what the step adds to the gradient.
  subroutine retreat(stepper, step, adjoint, w_x, w_y, gradient)
    type(heat_stepper), intent(inout) :: stepper
    integer, intent(in) :: step
    real(dp), intent(inout), contiguous :: adjoint(:, :)
    real(dp), intent(in), contiguous :: w_x(:, :), w_y(:, :)
    type(heat_gradient), intent(inout) :: gradient
    if (.not. x_first(step)) call sweep_x()
    associate (m => stepper%w_y)
      m = adjoint
      call solve(stepper%along_y, m)
      adjoint = 2 * m - adjoint
      gradient%source_y = gradient%source_y + m
      call add_face_gradient(m, w_y, gradient%face_y)
    end associate
    if (x_first(step)) call sweep_x()

  contains

    subroutine sweep_x()
      associate (m => stepper%w_x)
        call transpose_to(adjoint, stepper%across)
        m = stepper%across
        call solve(stepper%along_x, m)
        stepper%across = 2 * m - stepper%across
        call transpose_to(stepper%across, adjoint)
        gradient%source_x = gradient%source_x + m
        call add_face_gradient(m, w_x, gradient%face_x)
      end associate
    end subroutine
  end subroutine

  ! In blocks, as the cache likes it.
  pure subroutine transpose_to(a, b)
    real(dp), intent(in), contiguous :: a(:, :)
    real(dp), intent(out), contiguous :: b(:, :)
    integer, parameter :: block = 8
    integer :: i, j, ib, jb
    do jb = 1, size(a, 2), block
      do ib = 1, size(a, 1), block
        do i = ib, min(ib + block - 1, size(a, 1))
          do j = jb, min(jb + block - 1, size(a, 2))
            b(j, i) = a(i, j)
          end do
        end do
      end do
    end do
  end subroutine

  ! The order of the sweeps alternates, so that their splitting error cancels to second order.
  pure logical function x_first(step)
    integer, intent(in) :: step
    x_first = mod(step, 2) == 1
  end function

  ! ---- Sweeps

  ! k is indexed (line, cell).
  function new_sweep(k, dt) result(sweep)
    real(dp), intent(in) :: k(:, :)
    real(dp), intent(in) :: dt
    type(heat_sweep) :: sweep
    real(dp), allocatable :: pivot(:)
    integer :: cells, j
    cells = size(k, 2)
    sweep%face_scale = 0.5_dp * dt * real(cells, dp)**2
    allocate (sweep%face(size(k, 1), 0:cells))
    allocate (sweep%ratio, sweep%inverse_pivot, mold=k)
    associate (face => sweep%face, scale => sweep%face_scale)
      face(:, 0) = scale * 2 * k(:, 1) ! the edge is half a cell away
      do j = 1, cells - 1
        face(:, j) = scale * 2 * k(:, j) * k(:, j + 1) / (k(:, j) + k(:, j + 1))
      end do
      face(:, cells) = scale * 2 * k(:, cells)
      do j = 1, cells
        pivot = 1 + face(:, j - 1) + face(:, j)
        if (j > 1) pivot = pivot - face(:, j - 1) * sweep%ratio(:, j - 1)
        sweep%inverse_pivot(:, j) = 1 / pivot
        sweep%ratio(:, j) = face(:, j) / pivot
      end do
    end associate
  end function

  ! Replaces b by (1 - dt/2 A)^-1 b.
  pure subroutine solve(sweep, b)
    type(heat_sweep), intent(in) :: sweep
    real(dp), intent(inout), contiguous :: b(:, :)
    integer :: i, j
    do j = 2, size(b, 2)
      do i = 1, size(b, 1)
        b(i, j) = b(i, j) + sweep%ratio(i, j - 1) * b(i, j - 1)
      end do
    end do
    b(:, size(b, 2)) = b(:, size(b, 2)) * sweep%inverse_pivot(:, size(b, 2))
    do j = size(b, 2) - 1, 1, -1
      do i = 1, size(b, 1)
        b(i, j) = b(i, j) * sweep%inverse_pivot(i, j) + sweep%ratio(i, j) * b(i, j + 1)
      end do
    end do
  end subroutine

  ! Adds h**2 m^T (dA / d face) w for each face.
  pure subroutine add_face_gradient(m, w, face)
    real(dp), intent(in), contiguous :: m(:, :), w(:, :)
    real(dp), intent(inout), contiguous :: face(:, 0:)
    integer :: i, j, cells
    cells = size(m, 2)
    face(:, 0) = face(:, 0) - m(:, 1) * w(:, 1)
    do j = 1, cells - 1
      do i = 1, size(m, 1)
        face(i, j) = face(i, j) - (m(i, j + 1) - m(i, j)) * (w(i, j + 1) - w(i, j))
      end do
    end do
    face(:, cells) = face(:, cells) - m(:, cells) * w(:, cells)
  end subroutine

  function gradient_by_cells(k, stepper, gradient) result(by_k)
    real(dp), intent(in) :: k(:, :)
    type(heat_stepper), intent(in) :: stepper
    type(heat_gradient), intent(in) :: gradient
    real(dp) :: by_k(size(k, 1), size(k, 2))
    by_k = 2 * stepper%along_y%face_scale * line_gradient(k, gradient%face_y) &
      + 2 * stepper%along_x%face_scale &
      * transpose(line_gradient(transpose(k), gradient%face_x))
  end function

  ! The chain rule through the harmonic means of `new_sweep`.
  pure function line_gradient(k, face) result(gradient)
    real(dp), intent(in) :: k(:, :), face(:, 0:)
    real(dp) :: gradient(size(k, 1), size(k, 2))
    integer :: j, cells
    cells = size(k, 2)
    gradient = 0
    gradient(:, 1) = 2 * face(:, 0)
    gradient(:, cells) = gradient(:, cells) + 2 * face(:, cells)
    do j = 1, cells - 1
      gradient(:, j) = gradient(:, j) + face(:, j) * 2 * (k(:, j + 1) / (k(:, j) + k(:, j + 1)))**2
      gradient(:, j + 1) = gradient(:, j + 1) &
        + face(:, j) * 2 * (k(:, j) / (k(:, j) + k(:, j + 1)))**2
    end do
  end function

  ! ---- Readings

  pure function new_sensor(position, nx, ny) result(sensor)
    real(dp), intent(in) :: position(2)
    integer, intent(in) :: nx, ny
    type(heat_sensor) :: sensor
    real(dp) :: x, y
    x = position(1) * nx + 0.5_dp ! the centre of cell i is at i
    y = position(2) * ny + 0.5_dp
    sensor%i = min(max(int(x), 1), nx - 1)
    sensor%j = min(max(int(y), 1), ny - 1)
    x = x - sensor%i
    y = y - sensor%j
    sensor%weight = reshape([(1 - x) * (1 - y), x * (1 - y), (1 - x) * y, x * y], [2, 2])
  end function

  ! How much of the state after `step` is in reading i.
  pure real(dp) function share(stepper, i, step)
    type(heat_stepper), intent(in) :: stepper
    integer, intent(in) :: i, step
    share = 0
    if (stepper%interval(i) == step) share = 1 - stepper%fraction(i)
    if (stepper%interval(i) + 1 == step) share = stepper%fraction(i)
  end function

  subroutine read_sensors(stepper, step, u, readings)
    type(heat_stepper), intent(in) :: stepper
    integer, intent(in) :: step
    real(dp), intent(in) :: u(:, :)
    real(dp), intent(inout) :: readings(:, :)
    integer :: time, s
    real(dp) :: part
    do time = 1, size(readings, 2)
      part = share(stepper, time, step)
      if (part <= 0) cycle
      do s = 1, size(stepper%sensors)
        associate (sensor => stepper%sensors(s))
          readings(s, time) = readings(s, time) + part &
            * sum(sensor%weight * u(sensor%i:sensor%i + 1, sensor%j:sensor%j + 1))
        end associate
      end do
    end do
  end subroutine

  subroutine read_sensors_transposed(stepper, step, seed, adjoint)
    type(heat_stepper), intent(in) :: stepper
    integer, intent(in) :: step
    real(dp), intent(in) :: seed(:, :)
    real(dp), intent(inout) :: adjoint(:, :)
    integer :: time, s
    real(dp) :: part
    do time = 1, size(seed, 2)
      part = share(stepper, time, step)
      if (part <= 0) cycle
      do s = 1, size(stepper%sensors)
        associate (sensor => stepper%sensors(s))
          adjoint(sensor%i:sensor%i + 1, sensor%j:sensor%j + 1) = &
            adjoint(sensor%i:sensor%i + 1, sensor%j:sensor%j + 1) &
            + part * seed(s, time) * sensor%weight
        end associate
      end do
    end do
  end subroutine
end module
