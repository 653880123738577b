/** The titles alone: they are in the first load. */
export const titles = { title: 'Manifest', newTitle: 'New manifest', create: 'New manifest…' } as const
