/** The last line of a log that says something. Synapse frames what it says with a line of asterisks, so the very last says nothing. */
export const lastSaid = (log: string): string | undefined =>
  log
    .split('\n')
    .findLast((line) => /\w/.test(line))
    ?.trim()
