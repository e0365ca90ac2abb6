import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON read into maps, lists, strings, numbers and booleans, and written from them. */
final class Json {
    private final String text;
    private int at = 0;

    private Json(String text) {
        this.text = text;
    }

    /** The value in a text. */
    static Object read(String text) {
        return new Json(text).value();
    }

    /** A value as text. */
    static String write(Object value) {
        if (value instanceof String string) return quoted(string);
        if (value instanceof List<?> list) {
            return "[" + String.join(", ", list.stream().map(Json::write).toList()) + "]";
        }
        if (value instanceof Map<?, ?> map) {
            var fields = map.entrySet().stream()
                    .map(field -> quoted((String) field.getKey()) + ": " + write(field.getValue()));
            return "{" + String.join(", ", fields.toList()) + "}";
        }
        return String.valueOf(value);
    }

    private static String quoted(String string) {
        var out = new StringBuilder("\"");
        for (char letter : string.toCharArray()) {
            if (letter == '"' || letter == '\\') out.append('\\').append(letter);
            else if (letter < ' ') out.append(String.format("\\u%04x", (int) letter));
            else out.append(letter);
        }
        return out.append('"').toString();
    }

    private Object value() {
        return switch (peek()) {
            case '{' -> object();
            case '[' -> list();
            case '"' -> string();
            default -> word();
        };
    }

    private Map<String, Object> object() {
        var fields = new LinkedHashMap<String, Object>();
        for (at++; peek() != '}'; skip(',')) {
            String key = string();
            skip(':');
            fields.put(key, value());
        }
        at++;
        return fields;
    }

    private List<Object> list() {
        var elements = new ArrayList<Object>();
        for (at++; peek() != ']'; skip(',')) elements.add(value());
        at++;
        return elements;
    }

    private String string() {
        var out = new StringBuilder();
        peek();
        for (at++; text.charAt(at) != '"'; at++) {
            char letter = text.charAt(at);
            if (letter == '\\') letter = escape(text.charAt(++at));
            out.append(letter);
        }
        at++;
        return out.toString();
    }

    private char escape(char letter) {
        if (letter != 'u') {
            int kind = "bfnrt".indexOf(letter);
            return kind < 0 ? letter : "\b\f\n\r\t".charAt(kind);
        }
        at += 4;
        return (char) Integer.parseInt(text.substring(at - 3, at + 1), 16);
    }

    /** A number, true, false or null. */
    private Object word() {
        int start = at;
        while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) at++;
        String word = text.substring(start, at);
        return switch (word) {
            case "true" -> true;
            case "false" -> false;
            case "null" -> null;
            default -> word.matches("-?\\d+") ? (Object) Long.valueOf(word) : Double.valueOf(word);
        };
    }

    /** The next letter that is no blank. */
    private char peek() {
        while (Character.isWhitespace(text.charAt(at))) at++;
        return text.charAt(at);
    }

    private void skip(char letter) {
        if (peek() == letter) at++;
    }
}
