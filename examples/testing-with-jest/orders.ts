// Stands in for your database.

export const orders = {
  paid: new Set<string>(),

  async markPaid(id: string): Promise<void> {
    orders.paid.add(id);
  },
};
