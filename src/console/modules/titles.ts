/** The titles alone: they are in the first load. */
export const titles = { title: 'Modules', module: 'Module' } as const
