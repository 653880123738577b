import { expect, test } from 'vitest'
import { menuOf } from '../../src/console/menu.ts'

const page = (label: string, shortcut?: string) =>
  ({
    path: `/${label}`,
    nav: { group: 'Now', label, order: 0, ...(shortcut ? { shortcut } : {}) },
  }) as const

test('every page of the menu has a letter of its own, also one that declares none', () => {
  const menu = menuOf([page('Alerts'), page('Accounts', 'a'), page('Aa'), page('Glass'), { path: '/boxes/$slug' }])
  expect(menu.map(({ path, letter }) => [path, letter])).toEqual([
    ['/Alerts', 'l'],
    ['/Accounts', 'a'],
    ['/Aa', 'b'],
    ['/Glass', 's'],
  ])
})
