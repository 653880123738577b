// Constants alone: the browser loads this file, and the schemas beside it would come along.

/** The header by which the page of a school marks its calls: no form and no other site can send it. */
export const schoolHeader = 'x-tenantry-school'
/** A session of the page without a click or a key ends after this. */
export const schoolIdleMs = 60 * 60_000
