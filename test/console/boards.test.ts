import { expect, test } from 'vitest'
import { newestSteps } from '../../src/console/boards/newest-steps.ts'

test.each([
  [1, 1, [{ limit: 1 }]],
  [200, 1, [{ limit: 200 }]],
  [201, 1, [{ limit: 200, cursor: '1' }]],
  [201, 2, [{ limit: 200 }, { limit: 1, cursor: '200' }]],
  [1_450, 1, [{ limit: 200, cursor: '1250' }]],
  [
    ...([1_450, 2] as const),
    [
      { limit: 200, cursor: '1050' },
      { limit: 200, cursor: '1250' },
    ],
  ],
  [0, 1, [{ limit: 1 }]],
])('of %d steps a run shows the newest in %d pages', (seq, pages, queries) => {
  expect(newestSteps(seq, pages)).toEqual(queries)
})
