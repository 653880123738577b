import { expect, test } from 'vitest'
import { restoreSteps, stepWord } from '../../../src/core/boxes/index.ts'

test('each step of a restore has a display name', () => {
  expect(restoreSteps.filter((step) => stepWord(step) === step)).toEqual(['commit'])
})
