import { api, makeQueryClient } from '../kit/index.ts'

export const queryClient = makeQueryClient()

/** Whose session this is. */
export const accountQuery = {
  queryKey: ['vendor', 'account'],
  queryFn: () => api.vendor.showVendorAccount(),
  ...{ staleTime: 60_000, retry: false },
} as const

/** After an act: what it changed is in several lists. */
export const refresh = (): void => void queryClient.invalidateQueries({ queryKey: ['vendor'] })
