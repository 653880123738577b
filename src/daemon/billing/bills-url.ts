/** The page on which a tenant sees its bills and stores a means of payment. */
export const billsUrlOf = (baseUrl: string): string => `${baseUrl}/school/bills`
