! Tests of the heat solver: a known solution, and the adjoint against finite differences.
program heat_test
  use heat_solver
  implicit none
  real(dp), parameter :: pi = acos(-1.0_dp)
  logical :: passed = .true.

  call test_convergence()
  call test_adjoint(nx=24, ny=17, steps=37)
  call test_adjoint(nx=3, ny=5, steps=1)
  if (.not. passed) error stop 'failed'

contains

  subroutine require(condition, what, value)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    real(dp), intent(in) :: value
    print '(a, a, es12.3)', merge('ok     ', 'FAILED ', condition), what, value
    passed = passed .and. condition
  end subroutine

  ! k = 1 and q = sin(pi x) sin(pi y) have a solution in closed form; the error falls as h**2.
  subroutine test_convergence()
    real(dp) :: coarse, fine
    coarse = error_of_known_solution(16, 10)
    fine = error_of_known_solution(32, 20)
    call require(fine < 2e-3_dp, 'relative error on 32 x 32:', fine)
    call require(coarse / fine > 3.7_dp, 'ratio of errors, 4 expected:', coarse / fine)
  end subroutine

  real(dp) function error_of_known_solution(n, steps)
    integer, intent(in) :: n, steps
    type(heat_problem) :: problem
    real(dp), target :: k(n, n), q(n, n), sensor(2, 1), time(1)
    real(dp) :: readings(1, 1), temperature(n, n), amplitude
    integer :: i, j
    k = 1
    do j = 1, n
      do i = 1, n
        q(i, j) = sin(pi * (i - 0.5_dp) / n) * sin(pi * (j - 0.5_dp) / n)
      end do
    end do
    sensor(:, 1) = [0.3_dp, 0.6_dp]
    time = 0.033_dp
    problem = heat_problem(k, q, sensor, time, 0.05_dp, steps)
    call heat_simulate(problem, readings, temperature)
    amplitude = (1 - exp(-2 * pi**2 * 0.05_dp)) / (2 * pi**2)
    error_of_known_solution = maxval(abs(temperature - amplitude * q)) / amplitude
    amplitude = (1 - exp(-2 * pi**2 * 0.033_dp)) / (2 * pi**2)
    error_of_known_solution = max(error_of_known_solution, &
      abs(readings(1, 1) / (amplitude * sin(0.3_dp * pi) * sin(0.6_dp * pi)) - 1))
  end function

  subroutine test_adjoint(nx, ny, steps)
    integer, intent(in) :: nx, ny, steps
    type(heat_problem) :: problem
    real(dp), target :: k(nx, ny), q(nx, ny), k0(nx, ny), q0(nx, ny), sensors(2, 3), times(4)
    real(dp) :: dk(nx, ny), dq(nx, ny), gradient_k(nx, ny), gradient_q(nx, ny)
    real(dp) :: readings_seed(3, 4), temperature_seed(nx, ny), by_adjoint, by_differences
    real(dp), parameter :: h = 1e-4_dp
    logical :: enough_memory
    call random_init(.true., .true.)
    call random_number(k0)
    call random_number(q0)
    k0 = 0.5_dp + k0
    sensors = reshape([0.01_dp, 0.99_dp, 0.4_dp, 0.55_dp, 0.8_dp, 0.13_dp], [2, 3])
    times = [0.0_dp, 0.021_dp, 0.037_dp, 0.05_dp]
    call random_number(dk)
    call random_number(dq)
    call random_number(readings_seed)
    call random_number(temperature_seed)
    k = k0
    q = q0
    problem = heat_problem(k, q, sensors, times, 0.05_dp, steps)
    call heat_adjoint(problem, readings_seed, temperature_seed, gradient_k, gradient_q, &
      enough_memory)
    if (.not. enough_memory) error stop 'not enough memory'

    by_adjoint = sum(gradient_k * dk)
    k = k0 + h * dk
    by_differences = functional(problem, readings_seed, temperature_seed)
    k = k0 - h * dk
    by_differences = by_differences - functional(problem, readings_seed, temperature_seed)
    by_differences = by_differences / (2 * h)
    call require(abs(by_adjoint / by_differences - 1) < 1e-7_dp, 'gradient by conductivity:', &
      abs(by_adjoint / by_differences - 1))

    k = k0
    by_adjoint = sum(gradient_q * dq)
    q = dq ! the temperature is linear in the source
    by_differences = functional(problem, readings_seed, temperature_seed)
    call require(abs(by_adjoint / by_differences - 1) < 1e-12_dp, 'gradient by source:', &
      abs(by_adjoint / by_differences - 1))
  end subroutine

  real(dp) function functional(problem, readings_seed, temperature_seed)
    type(heat_problem), intent(in) :: problem
    real(dp), intent(in) :: readings_seed(:, :), temperature_seed(:, :)
    real(dp) :: readings(size(readings_seed, 1), size(readings_seed, 2))
    real(dp) :: temperature(size(temperature_seed, 1), size(temperature_seed, 2))
    call heat_simulate(problem, readings, temperature)
    functional = sum(readings * readings_seed) + sum(temperature * temperature_seed)
  end function
end program
