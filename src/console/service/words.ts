export const words = {
  title: 'Settings',
  answer: (changed: number, all: number) => `${changed} of ${all} set by file or environment`,
  filter: 'Filter by key or variable',
  origin: 'Origin',
  notSet: 'not set',
} as const
