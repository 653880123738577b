/** The titles alone: they are in the first load. */
export const titles = { title: 'Tenants', users: 'Users', limits: 'Budgets' } as const
