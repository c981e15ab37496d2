// Stands in for your database.

const paid = new Set<string>();

export const orders = {
  async markPaid(id: string): Promise<void> {
    paid.add(id);
  },
};
