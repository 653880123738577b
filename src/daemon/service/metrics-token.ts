import { timingSafeEqual } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { bearerToken, problem, type Secret, secret, sha256Hex } from '../../core/kit/index.ts'
import { readIfThere } from '../../node/index.ts'

const minLength = 32

/** The token of `metrics.tokenFile`; undefined without that setting. Throws CONFIG_INVALID. */
export async function readMetricsToken({ tokenFile }: Readonly<{ tokenFile?: string | undefined }>): Promise<Secret | undefined> {
  if (tokenFile === undefined) return undefined
  const token = (await readToken(tokenFile))?.trim()
  if (token === undefined)
    throw problem('CONFIG_INVALID', `The token file ${tokenFile} does not exist. fix: (umask 077; openssl rand -hex 32 > ${tokenFile})`)
  if (((await stat(tokenFile)).mode & 0o007) !== 0)
    throw problem('CONFIG_INVALID', `The token file ${tokenFile} can be read by others. fix: chmod o= ${tokenFile}`)
  if (token.length < minLength || bearerToken(`Bearer ${token}`) === undefined)
    throw problem(
      'CONFIG_INVALID',
      `The token file ${tokenFile} must have one line of at least ${minLength} characters. fix: openssl rand -hex 32 > ${tokenFile}`,
    )
  return secret(token)
}

const readToken = (tokenFile: string) =>
  readIfThere(tokenFile).catch(({ code }: NodeJS.ErrnoException) => {
    throw problem('CONFIG_INVALID', `Cannot read the token file ${tokenFile} (${code}). fix: make it readable by the user of the daemon`)
  })

/** Throws UNAUTHENTICATED. */
export function assertMetricsToken(token: Secret, authorization: string | undefined): void {
  const given = bearerToken(authorization)
  const digest = (text: string) => Buffer.from(sha256Hex(text), 'hex')
  if (given !== undefined && timingSafeEqual(digest(given), digest(token.reveal()))) return
  const fix = 'fix: send `Authorization: Bearer` and the token of metrics.tokenFile'
  throw problem('UNAUTHENTICATED', `Metrics are readable with their token only. ${fix}`)
}
