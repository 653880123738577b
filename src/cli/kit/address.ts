import { forbiddenPort, problem } from '../../core/kit/index.ts'

/** Where a daemon with its default settings is. */
const defaultUrl = 'http://127.0.0.1:8440'

type Sources = Readonly<{ option?: string | undefined; environment?: string | undefined; lastLogin?: string | undefined }>

/** The daemon's address: the option, the variable, the last login, or the default; without a slash at the end. */
export const chooseUrl = ({ option, environment, lastLogin }: Sources): string =>
  checkUrl(option ?? (environment || undefined) ?? lastLogin ?? defaultUrl)

/** Tokens travel over https, or stay on this machine. */
function checkUrl(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw problem('USAGE', `${given} is not the address of a daemon: it looks like https://tenantry.example`)
  if (url.protocol === 'http:' && !onLoopback(url.hostname))
    throw problem('USAGE', `${given} would send tokens unencrypted: use https, or http on 127.0.0.1 only`)
  const never = forbiddenPort(url)
  if (never) throw problem('USAGE', `${given} cannot be called: ${never}`)
  if (url.username || url.password) throw problem('USAGE', 'leave name and password out of the address; logging in asks for them')
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

const onLoopback = (hostname: string) => hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
