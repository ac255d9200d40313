! A component written with tesseract_plugin: each output is twice the input of its name, `not flag`
! for flag.  Ranks 0 to 7 in float64, column-major from rank 2 on; the other types row-major,
! reversed.  `behaviour` chooses how it fails.
module kinds
  use tesseract_plugin
  implicit none
  private
  public :: tesseract_plugin_v1

  character(len=*), parameter :: leaves = &
    '{"path": "r0", "dtype": "float64", "shape": []D},' // &
    '{"path": "r1", "dtype": "float64", "shape": ["a"]D},' // &
    '{"path": "r2", "dtype": "float64", "shape": ["b", "c"], "layout": "column-major"D},' // &
    '{"path": "r3", "dtype": "float64", "shape": ["d", "e", "f"], "layout": "column-major"D},' // &
    '{"path": "r4", "dtype": "float64", "shape": [1, 2, 1, "g"], "layout": "column-major"D},' // &
    '{"path": "r5", "dtype": "float64", "shape": [1, 2, 1, 2, 1], "layout": "column-major"D},' // &
    '{"path": "r6", "dtype": "float64", "shape": [1, 2, 1, 2, 1, 2], ' // &
    '"layout": "column-major"D},' // &
    '{"path": "r7", "dtype": "float64", "shape": [2, 1, 2, 1, 2, 1, 2], ' // &
    '"layout": "column-major"D},' // &
    '{"path": "f", "dtype": "float32", "shape": ["h", "i"]D},' // &
    '{"path": "i8", "dtype": "int64", "shape": ["j", "k"]D},' // &
    '{"path": "i4", "dtype": "int32", "shape": ["l", "m"]D},' // &
    '{"path": "z", "dtype": "complex128", "shape": ["n", "o"]D},' // &
    '{"path": "flag", "dtype": "bool", "shape": ["p"]D}'
  character(len=:), allocatable, target, save :: description
  type(tesseract_plugin_table), target, save :: plugin

contains

  integer(c_int32_t) function tesseract_plugin_v1(host, table) result(status) bind(c)
    type(c_ptr), value :: host
    type(c_ptr), intent(out) :: table
    plugin%create = c_funloc(create)
    plugin%describe = c_funloc(describe)
    plugin%apply = c_funloc(apply)
    table = c_loc(plugin)
    status = TESSERACT_OK
  end function

  ! Logs the options it is made with.
  integer(c_int32_t) function create(options, length, instance, frame) result(status) bind(c)
    character(kind=c_char), intent(in) :: options(*)
    integer(c_int64_t), value :: length
    type(c_ptr), intent(inout) :: instance
    type(tesseract_frame), intent(in) :: frame
    instance = c_null_ptr
    status = TESSERACT_OK
    if (length > 2) then
      status = tesseract_fail(frame, TESSERACT_ERROR_INVALID_ARGUMENT, '', 'no options, got ' // &
        options(1) // ' and more')
    end if
    call tesseract_log(frame, TESSERACT_LOG_INFO, 'made')
  end function

  integer(c_int32_t) function describe(instance, text, length, frame) result(status) bind(c)
    type(c_ptr), value :: instance
    type(c_ptr), intent(inout) :: text
    integer(c_int64_t), intent(inout) :: length
    type(tesseract_frame), intent(in) :: frame
    if (.not. allocated(description)) then
      description = '{"name": "kinds", "inputs": [' // with(', "required": false') // &
        ',{"path": "behaviour", "type": "string", "default": "none"}], "outputs": [' // &
        with('') // &
        ',{"path": "grown", "dtype": "int32", "shape": [null, null]}' // &
        ',{"path": "seen", "type": "any"}]}'
    end if
    text = c_loc(description)
    length = len(description)
    status = TESSERACT_OK
  end function

  ! The leaves with a text in place of each D.
  function with(text) result(json)
    character(len=*), intent(in) :: text
    character(len=:), allocatable :: json
    integer :: i
    json = ''
    do i = 1, len(leaves)
      if (leaves(i:i) == 'D') then
        json = json // text
      else
        json = json // leaves(i:i)
      end if
    end do
  end function

  integer(c_int32_t) function apply(instance, plan, frame) result(status) bind(c)
    type(c_ptr), value :: instance, plan
    type(tesseract_frame), intent(in) :: frame
    character(len=:), allocatable :: json
    real(real64), pointer :: x0, y0, x1(:), y1(:), x2(:, :), y2(:, :), x3(:, :, :), y3(:, :, :), &
      x4(:, :, :, :), y4(:, :, :, :), x5(:, :, :, :, :), y5(:, :, :, :, :), &
      x6(:, :, :, :, :, :), y6(:, :, :, :, :, :), x7(:, :, :, :, :, :, :), y7(:, :, :, :, :, :, :)
    real(real32), pointer :: xf(:, :), yf(:, :)
    integer(int64), pointer :: xi8(:, :), yi8(:, :)
    integer(int32), pointer :: xi4(:, :), yi4(:, :), grown(:, :)
    complex(real64), pointer :: xz(:, :), yz(:, :)
    logical(c_bool), pointer :: xflag(:), yflag(:)
    integer :: i, j
    nullify (x0, y0, x1, y1, x2, y2, x3, y3, x4, y4, x5, y5, x6, y6, x7, y7, xf, yf, xi8, yi8, &
      xi4, yi4, grown, xz, yz, xflag, yflag)
    status = TESSERACT_OK

    json = tesseract_input_json(frame)
    if (index(json, '"dtype"') > 0) call tesseract_input(frame, 1, xi8, status)
    if (index(json, '"rank"') > 0) call tesseract_input(frame, 2, x2, status)
    if (index(json, '"order"') > 0) call tesseract_input(frame, 9, xf, status)
    if (index(json, '"position"') > 0) call tesseract_output(frame, 99, x2, status)
    if (index(json, '"domain"') > 0) then
      status = tesseract_fail(frame, TESSERACT_ERROR_OUT_OF_DOMAIN, 'r1', 'not there')
    end if
    do while (index(json, '"wait"') > 0 .and. status == TESSERACT_OK)
      if (tesseract_cancelled(frame)) status = TESSERACT_ERROR_CANCELLED
    end do

    call tesseract_input(frame, 1, x0, status)
    call tesseract_input(frame, 2, x1, status)
    call tesseract_input(frame, 3, x2, status)
    call tesseract_input(frame, 4, x3, status)
    call tesseract_input(frame, 5, x4, status)
    call tesseract_input(frame, 6, x5, status)
    call tesseract_input(frame, 7, x6, status)
    call tesseract_input(frame, 8, x7, status)
    call tesseract_input(frame, 9, xf, status, reversed=.true.)
    call tesseract_input(frame, 10, xi8, status, reversed=.true.)
    call tesseract_input(frame, 11, xi4, status, reversed=.true.)
    call tesseract_input(frame, 12, xz, status, reversed=.true.)
    call tesseract_input(frame, 13, xflag, status)
    call tesseract_output(frame, 1, y0, status)
    call tesseract_output(frame, 2, y1, status)
    call tesseract_output(frame, 3, y2, status)
    call tesseract_output(frame, 4, y3, status)
    call tesseract_output(frame, 5, y4, status)
    call tesseract_output(frame, 6, y5, status)
    call tesseract_output(frame, 7, y6, status)
    call tesseract_output(frame, 8, y7, status)
    call tesseract_output(frame, 9, yf, status, reversed=.true.)
    call tesseract_output(frame, 10, yi8, status, reversed=.true.)
    call tesseract_output(frame, 11, yi4, status, reversed=.true.)
    call tesseract_output(frame, 12, yz, status, reversed=.true.)
    call tesseract_output(frame, 13, yflag, status)
    if (index(json, '"grow"') > 0) then
      call tesseract_output(frame, 14, grown, status, reversed=.true., dims=[3_int64, 2_int64])
    end if
    call tesseract_output_json(frame, '{"seen": ' // json // '}', status)
    if (status /= TESSERACT_OK) return

    if (associated(x0) .and. associated(y0)) y0 = 2 * x0
    if (associated(x1) .and. associated(y1)) y1 = 2 * x1
    if (associated(x2) .and. associated(y2)) y2 = 2 * x2
    if (associated(x3) .and. associated(y3)) y3 = 2 * x3
    if (associated(x4) .and. associated(y4)) y4 = 2 * x4
    if (associated(x5) .and. associated(y5)) y5 = 2 * x5
    if (associated(x6) .and. associated(y6)) y6 = 2 * x6
    if (associated(x7) .and. associated(y7)) y7 = 2 * x7
    if (associated(xf) .and. associated(yf)) yf = 2 * xf
    if (associated(xi8) .and. associated(yi8)) yi8 = 2 * xi8
    if (associated(xi4) .and. associated(yi4)) yi4 = 2 * xi4
    if (associated(xz) .and. associated(yz)) yz = 2 * xz
    if (associated(xflag) .and. associated(yflag)) yflag = .not. xflag
    if (associated(grown)) grown = reshape([((10 * i + j, j = 0, 2), i = 0, 1)], [3, 2])
  end function
end module
