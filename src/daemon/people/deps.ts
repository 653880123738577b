import type { Mailer } from '../mail/index.ts'
import type { ExportDeps } from '../privacy/index.ts'
import type { Keyring } from '../sealed/index.ts'
import type { UsersDeps } from '../users/index.ts'

/** Dependencies of the feature. Each function takes the part it uses. */
export type PeopleDeps = UsersDeps &
  ExportDeps &
  Readonly<{
    keyring: Keyring
    /** The address of this daemon: links of mails lead there. */
    baseUrl: string
    /** Absent: no mail is set up. */
    mailer?: Mailer | undefined
  }>
