// A constant alone: the browser loads this file, and the schemas beside it would come along.

/** The header by which the page of vendors marks its calls: no form and no other site can send it. */
export const vendorHeader = 'x-tenantry-vendor'
