// Login with password and one-time code or a passkey, own passkeys, first steps of an account, logout, and the choice of light or dark.
// The session itself is a cookie that no script can read.

import { consoleFeature } from '../kit/index.ts'
import { titles } from './titles.ts'

export { Logout, ThemeButton } from './account-buttons.tsx'
export { Reauthenticate } from './reauthenticate.tsx'

/** The page is no part of the first load of those who are logged in. */
export const loadLoginPage = () => import('./login-page.tsx')
export const loadProviderPage = () => import('./provider-page.tsx')

export const loginConsole = consoleFeature({
  name: 'login',
  pages: [
    { path: '/login/cli', title: titles.cli, load: () => import('./cli-page.tsx') },
    {
      path: '/passkeys',
      title: titles.passkeys,
      load: () => import('./passkeys-page.tsx'),
      nav: { group: 'System', label: titles.passkeys, order: 9.5 },
    },
  ],
})
