/** The titles alone: they are in the first load, the other words come with a page. */
export const titles = {
  list: 'Rollouts',
  plan: 'Rollout plan',
  planNav: 'Plan',
  emergency: 'Emergency rollout',
  box: 'Box of a rollout',
} as const
