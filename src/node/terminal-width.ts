/** A terminal that does not know its size says 0. */
const usualColumns = 80

type Terminal = Readonly<{ isTTY?: boolean | undefined; columns?: number | undefined }>

/** Text for another program is never cut: without a terminal (or COLUMNS) the width has no end. */
export const widthOf = ({ isTTY, columns }: Terminal, env: Readonly<Record<string, string | undefined>>): number =>
  isTTY ? columns || usualColumns : Number(env.COLUMNS) || Number.POSITIVE_INFINITY
