import { expect, test } from 'vitest'
import { doubtful, type Machine, tellChecks, well } from '../../src/node/command-line.ts'

const checks = [
  well('engine', '29.1.3'),
  doubtful(
    'box oak',
    '3 of 4 containers run, and the database of this box is restarting',
    'tenantry-agent box show oak; then look at docker logs of what is down',
  ),
]

function told(stdout: Omit<Machine['stdout'], 'write'>, env = {}): string {
  let text = ''
  const write = (more: string) => {
    text += more
  }
  tellChecks({ env, stdout: { ...stdout, write } } as unknown as Machine, {}, checks, 8)
  return text
}

test('on a terminal what was found and how to mend it go on below themselves, and a command stays whole', () => {
  expect(told({ isTTY: true, columns: 40 })).toBe(
    [
      '✓ engine   29.1.3',
      '! box oak  3 of 4 containers run, and',
      '           the database of this box is',
      '           restarting',
      '           mend: tenantry-agent box show oak;',
      '                 then look at docker',
      '                 logs of what is down',
      '',
      '0 faults, 1 warning',
      '',
    ].join('\n'),
  )
})

test('for another program each stays on its line', () => {
  expect(told({}).split('\n')).toHaveLength(6)
  expect(told({}, { COLUMNS: '40' })).toBe(told({ isTTY: true, columns: 40 }))
})
