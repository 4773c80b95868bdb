/** Files of functions, as `colonnade udf pull` writes them. Nothing here needs the editor. */

const HEAD = /^# CREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|AGGREGATE)\s/i;
const DEF = /^def\s/;

/** The line of the `def` of a function's file, from 0; undefined if it is no such file. */
export function lineOfDef(lines: Iterable<string>): number | undefined {
    let number = 0;
    for (const line of lines) {
        if (number === 0 && !HEAD.test(line)) {
            return undefined;
        }
        if (DEF.test(line)) {
            return number;
        }
        number += 1;
    }
    return undefined;
}
