import { expect, test } from 'vitest'
import { fields, paintWith } from '../../../src/cli/kit/index.ts'

test('durations and commands are not broken in a field', () => {
  const shown = fields({ width: 30, colour: false, paint: paintWith(false), now: new Date(0) }, [
    ['because', 'it waited for 2 h 13 min, then `tenantry rollouts resume ro_1` was typed'],
  ])
  expect(shown.split('\n').map((line) => line.trim())).toEqual([
    'because  it waited for',
    '2 h 13 min, then',
    '`tenantry rollouts resume ro_1`',
    'was typed',
  ])
})
