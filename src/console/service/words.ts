import { titles } from './titles.ts'

export const words = {
  ...titles,
  answer: (changed: number, all: number) => `${changed} of ${all} set by file or environment`,
  filter: 'Filter by key or variable',
  origin: 'Origin',
  notSet: 'not set',
} as const
