use std::sync::Arc;

use super::*;

#[derive(Debug, PartialEq, Eq)]
struct Exceeded(usize);

fn budget(limit: usize) -> Arc<Budget<Exceeded>> {
    Budget::new(Some(limit), Exceeded)
}

#[test]
fn dropped_charges_are_released() {
    let budget = budget(1000);
    let mut charge = budget.charge(600).unwrap();
    assert_eq!(budget.charge(401).map(drop), Err(Exceeded(1000)));
    assert_eq!(budget.remaining(), 400);
    charge.set(1000).unwrap();
    assert!(charge.set(1001).is_err());
    assert_eq!((charge.bytes(), budget.remaining()), (1000, 0));
    charge.set(10).unwrap();
    let kept = budget.keep("value", 500).unwrap();
    assert_eq!((*kept, budget.remaining()), ("value", 1000 - 10 - 500 - OVERHEAD));
    let taken = charge.take();
    assert_eq!((charge.bytes(), taken.bytes()), (0, 10));
    drop((charge, kept));
    assert_eq!(budget.used(), 10);
    drop(taken);
    assert_eq!(budget.remaining(), 1000);
}

#[test]
fn no_number_overflows_a_budget() {
    let endless = Budget::new(None, Exceeded);
    let _half = endless.charge(usize::MAX / 2).unwrap();
    assert!(endless.keep((), usize::MAX).is_err());
    assert_eq!(budget(0).remaining(), 0);
}

#[test]
fn a_charge_of_a_part_counts_in_the_whole() {
    let whole = budget(1000);
    let parts = [700, 600].map(|limit| whole.part(Some(limit), |limit| Exceeded(limit + 1)));
    let first = parts[0].charge(700).unwrap();
    assert_eq!(parts[0].charge(1).map(drop), Err(Exceeded(701)));
    let second = parts[1].charge(300).unwrap();
    assert_eq!(parts[1].charge(1).map(drop), Err(Exceeded(1000)), "the whole is used up");
    assert_eq!((parts[1].used(), whole.used()), (300, 1000), "what is refused is not charged");
    drop(first);
    let third = parts[1].charge(300).unwrap();
    drop((second, third));
    assert_eq!((parts[0].used(), parts[1].used(), whole.used()), (0, 0, 0));
}

#[test]
fn a_vector_is_charged_with_its_capacity() {
    let budget = budget(1000);
    let mut vector = ChargedVec::new(&budget);
    assert_eq!(budget.used(), 0);
    vector.extend_from_slice(&[1_u64; 60]).unwrap();
    assert_eq!(budget.used(), 480);
    vector.push(2).unwrap();
    assert_eq!(budget.used(), 720, "the capacity grows by half");
    vector.extend([3; 29].into_iter()).unwrap();
    assert_eq!(budget.used(), 720);
    vector.resize(124, 4).unwrap();
    assert_eq!(budget.used(), 992, "there is no room for half more");
    assert!(vector.resize(126, 5).is_err());
    assert_eq!((vector.len(), vector[60], vector[61], vector[123]), (124, 2, 3, 4));
    let (items, charge) = vector.into_parts();
    assert_eq!((items.capacity() * 8, charge.bytes()), (992, 992));
    drop(charge);
    assert_eq!(budget.used(), 0);
}

#[test]
fn threads_never_exceed_a_budget() {
    let whole = budget(10_000);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let part = whole.part(None, Exceeded);
            let whole = &whole;
            scope.spawn(move || {
                for bytes in 0..2000 {
                    let charges = [part.charge(bytes), part.charge(bytes * 2)];
                    assert!(whole.used() <= 10_000);
                    drop(charges);
                }
            });
        }
    });
    assert_eq!(whole.used(), 0);
}
