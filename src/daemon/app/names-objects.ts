import { logosStored, someLogoKeys } from '../branding/index.ts'
import type { Db } from '../db/index.ts'
import { filesStored, someFileKeys } from '../files/index.ts'
import { screenshotsStored, someScreenshotKeys } from '../marketplace/index.ts'
import { packagesStored, somePackageKeys } from '../modules/index.ts'

/** Keys of a few objects that the database names, the same ones as long as it does. */
export const someObjects = async (db: Db): Promise<string[]> => [
  ...(await someFileKeys(db)),
  ...(await someLogoKeys(db)),
  ...(await somePackageKeys(db)),
  ...(await someScreenshotKeys(db)),
]

/** All stored objects that the database names. */
export const namedObjects = async (db: Db) => [
  ...(await filesStored(db)),
  ...(await logosStored(db)),
  ...(await packagesStored(db)),
  ...(await screenshotsStored(db)),
]
