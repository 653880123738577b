import type { Db } from '../db/index.ts'
import { fileKeys, hasFiles } from '../files/index.ts'
import { hasPackages, packageKeys } from '../store/index.ts'

/** Whether the database names stored objects, of any feature. */
export const namesObjects = async (db: Db): Promise<boolean> => (await hasFiles(db)) || (await hasPackages(db))

/** The keys of all stored objects that the database names. */
export const namedObjects = async (db: Db): Promise<string[]> => [...(await fileKeys(db)), ...(await packageKeys(db))]
