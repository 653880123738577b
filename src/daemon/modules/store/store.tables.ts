type StoreInviteTable = {
  code_hash: string
  created_by: string
  created_at: string
  expires_at: string
  used_at: string | null
  /** A developer. */
  used_by: string | null
}

export type StoreDeveloperTable = {
  id: string
  tenant_id: string
  /** Unique; null once the user is erased. */
  user_id: string | null
  email: string
  name: string
  organization: string
  verified: number
  created_at: string
}

/** An uploaded package. The row is written before the object, so that no object is unknown. */
type StoreArtifactTable = {
  id: string
  developer_id: string
  /** `discarded`: refused, and counted among the uploads of its day; there is no object any more. */
  state: 'uploading' | 'stored' | 'discarded'
  bytes: number
  sha256: string | null
  created_at: string
}

export type StoreSubmissionTable = {
  id: string
  developer_id: string
  /** Unique. */
  artifact_id: string
  module_id: string
  name: string
  version: string
  status: 'in_review' | 'approved' | 'rejected' | 'replaced'
  checksum: string
  /** JSON, as the next four. */
  manifest: string
  warnings: string
  scan: string
  test: string
  review: string | null
  created_at: string
  updated_at: string
}

/** A module from its first approval on. */
type StoreModuleTable = {
  id: string
  developer_id: string
  /** Unique. */
  feature_flag: string
  /** The newest approved version and its submission. */
  version: string
  submission_id: string
  approved_at: string
}

/** An approved version. Its signed columns never change. */
export type StoreVersionTable = {
  module_id: string
  version: string
  /** 1 for the first approved version of the module; a greater version has a greater one. */
  ordinal: number
  developer_id: string
  submission_id: string
  /** Unique. */
  artifact_id: string
  /** SHA-256 of the package, hex. */
  checksum: string
  /** JSON. */
  manifest: string
  /** The category of the manifest, for the catalogue. */
  category: string
  /** Id and name in lower case. */
  search: string
  approved_at: string
  /** The audit key that signed the approval. */
  key_id: string
  signature: string
}

/** One rating for each user and module. */
export type StoreRatingTable = {
  /** Unique. */
  id: string
  module_id: string
  user_id: string
  tenant_id: string
  rating: number
  comment: string | null
  created_at: string
}

declare module '../../db/database.ts' {
  interface Tables {
    store_invites: StoreInviteTable
    store_developers: StoreDeveloperTable
    store_artifacts: StoreArtifactTable
    store_submissions: StoreSubmissionTable
    store_modules: StoreModuleTable
    store_versions: StoreVersionTable
    store_ratings: StoreRatingTable
  }
}
