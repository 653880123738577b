import { expect, test } from 'vitest'
import { stepWord } from '../../../src/cli/rollouts/words.ts'
import { restoreSteps } from '../../../src/core/boxes/index.ts'

test('each step of a box that goes back by its snapshot is told in words, not by its name', () => {
  expect(restoreSteps.filter((step) => stepWord(step) === step)).toEqual(['commit'])
})
