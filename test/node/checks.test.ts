import { expect, test } from 'vitest'
import { type Machine, passed, printChecks, warning } from '../../src/node/command-line.ts'

const checks = [
  passed('engine', '29.1.3'),
  warning(
    'box oak',
    '3 of 4 containers run, and the database of this box is restarting',
    'tenantry-agent box show oak; then look at docker logs of what is down',
  ),
]

function printed(stdout: Omit<Machine['stdout'], 'write'>, env = {}): string {
  let text = ''
  const write = (more: string) => {
    text += more
  }
  printChecks({ env, stdout: { ...stdout, write } } as unknown as Machine, {}, { checks, nameColumns: 8 })
  return text
}

test('on a terminal findings and fixes wrap below their own column, and commands are not broken', () => {
  expect(printed({ isTTY: true, columns: 40 })).toBe(
    [
      '✓ engine   29.1.3',
      '! box oak  3 of 4 containers run, and',
      '           the database of this box is',
      '           restarting',
      '           fix: tenantry-agent box show oak;',
      '                then look at docker logs',
      '                of what is down',
      '',
      '0 failures, 1 warning',
      '',
    ].join('\n'),
  )
})

test('for another program each stays on its line', () => {
  expect(printed({}).split('\n')).toHaveLength(6)
  expect(printed({}, { COLUMNS: '40' })).toBe(printed({ isTTY: true, columns: 40 }))
})
