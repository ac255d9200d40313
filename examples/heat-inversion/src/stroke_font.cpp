#include "stroke_font.hpp"

#include <algorithm>

std::string_view glyph(char character) {
  switch (character) {
    case 'A': return "062046 1434";
    case 'B': return "06003041423303 3344453606";
    case 'C': return "4130100105163645";
    case 'D': return "00063645413000";
    case 'E': return "40000646 0333";
    case 'F': return "400006 0333";
    case 'G': return "41301001051636454323";
    case 'H': return "0006 4046 0343";
    case 'I': return "0006";
    case 'J': return "3035261605";
    case 'K': return "0006 4004 1346";
    case 'L': return "000646";
    case 'M': return "0600234046";
    case 'N': return "06004640";
    case 'O': return "103041453616050110";
    case 'P': return "06003041423303";
    case 'Q': return "103041453616050110 2446";
    case 'R': return "06003041423303 2346";
    case 'S': return "413010010213334445361605";
    case 'T': return "0040 2026";
    case 'U': return "000516364540";
    case 'V': return "002640";
    case 'W': return "0016223640";
    case 'X': return "0046 4006";
    case 'Y': return "002340 2326";
    case 'Z': return "00400646";
    case 'a': return "12223336 341405162635";
    case 'b': return "0006 0312223335261605";
    case 'c': return "3322120305162635";
    case 'd': return "3036 3322120305162635";
    case 'e': return "04343322120305162635";
    case 'f': return "30201116 0232";
    case 'g': return "3237281807 3322120305162635";
    case 'h': return "0006 0312223336";
    case 'i': return "0206 0000";
    case 'j': return "121708 1010";
    case 'k': return "0006 3205 1436";
    case 'l': return "0006";
    case 'm': return "0206 03122326 23324346";
    case 'n': return "0206 0312223336";
    case 'o': return "122233352616050312";
    case 'p': return "0208 0312223335261605";
    case 'q': return "3238 3322120305162635";
    case 'r': return "0206 03122232";
    case 's': return "33221203142435261605";
    case 't': return "10152636 0232";
    case 'u': return "0205162635 3236";
    case 'v': return "022642";
    case 'w': return "0216233642";
    case 'x': return "0236 3206";
    case 'y': return "0226 4218";
    case 'z': return "02320636";
    case '0': return "102031352616050110";
    case '1': return "011016 0626";
    case '2': return "01102031320636";
    case '3': return "01102031322313 233435261605";
    case '4': return "26200434";
    case '5': return "3000032334352616 1605";
    case '6': return "312010010516263534231304";
    case '7': return "003016";
    case '8': return "102031322313020110 2334352616050413";
    case '9': return "051626353120100102132332";
    case '.': return "0606";
    case ',': return "1607";
    case ':': return "0303 0606";
    case '-': return "0333";
    case '+': return "0444 2226";
    case '=': return "0333 0535";
    case '/': return "0630";
    case '(': return "10010516";
    case ')': return "00111506";
    default: return "";
  }
}

int glyph_width(std::string_view strokes) {
  int width = 0;
  for (std::size_t i = 0; i + 1 < strokes.size(); i += strokes[i] == ' ' ? 1 : 2) {
    if (strokes[i] != ' ') width = std::max(width, strokes[i] - '0');
  }
  return width;
}
