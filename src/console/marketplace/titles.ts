/** The titles alone: they are in the first load. */
export const titles = { title: 'Marketplace', vendors: 'Vendors', submissions: 'Submissions' } as const
