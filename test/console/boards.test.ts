import { expect, test } from 'vitest'
import { newestSteps } from '../../src/console/boards/newest-steps.ts'

test.each([
  [1, { limit: 200 }],
  [200, { limit: 200 }],
  [201, { limit: 200, cursor: '1' }],
  [1_450, { limit: 200, cursor: '1250' }],
])('the page of a run shows the newest steps of %d', (seq, query) => {
  expect(newestSteps(seq)).toEqual(query)
})
