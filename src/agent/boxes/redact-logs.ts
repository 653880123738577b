import type { LogLine } from '../../core/boxes/index.ts'
import type { LocalBox } from '../ports/index.ts'
import { readBoxSecrets, readProbeAccount } from './box-secrets.ts'

/** Removes the secrets of the box from lines of its logs, and whatever looks like a token of a user. */
export async function logRedactor({ project }: Pick<LocalBox, 'project'>): Promise<(line: LogLine) => LogLine> {
  const [secrets, account] = await Promise.all([readBoxSecrets(project), readProbeAccount(project)])
  const { boxId: _, signingKeyId: __, ...values } = secrets ?? { boxId: '', signingKeyId: '' }
  const known = [...Object.values(values), account?.accessToken ?? ''].filter((value) => value.length >= 8)
  const hidden = (text: string) => known.reduce((rest, value) => rest.replaceAll(value, '[secret]'), text).replace(tokens, '$1[secret]')
  // A placeholder may be longer than what it hides.
  return (line) => ({ ...line, text: hidden(line.text).slice(0, maxTextLength) })
}

const tokens = /((?:access_token|password|secret|refresh_token)["']?\s*[=:]\s*["']?|Bearer\s+|\b(?=sy[tr]_))[\w.~+/-]{8,}/gi
const maxTextLength = 4_000
