// Constants alone: the browser loads this file, and the schemas beside it would come along.

/** The header by which the console's own page marks its calls: no form and no other site can send it. */
export const consoleHeader = 'x-tenantry-console'
/** Marks calls that no person made, such as streams and refreshes: they do not keep a session open. */
export const backgroundHeader = 'x-tenantry-background'
/** A console session without calls of a person ends after this. */
export const consoleIdleMs = 60 * 60_000
