// Login with password and one-time code, first steps of an account, logout, and the choice of light or dark.
// The session itself is a cookie that no script can read.

export { Logout, ThemeButton } from './account-buttons.tsx'
export { LoginPage } from './login-page.tsx'
export { Reauthenticate } from './reauthenticate.tsx'
